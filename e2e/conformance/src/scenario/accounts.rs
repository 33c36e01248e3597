//! Further users: an account whose names and address changed, and another account with
//! the address of the first.

use super::{profile, result, session, sign_in};
use crate::error::Stop;
use crate::requirement::Requirement as R;
use crate::run::Run;
use crate::users::QueuedUser;

pub(super) const COVERS: &[R] = &[
    R::ProfileSubjectDistinct,
    R::ProfileSubjectNotEmail,
    R::ProfileProviderSubject,
    R::ProfileNames,
    R::ProfileEmail,
    R::ProfileEmailVerified,
];

/// Signs each of them in with each provider, and checks the profiles.
pub(super) async fn play(run: &mut Run<'_>) -> Result<(), Stop> {
    if run.plan.control.is_none() {
        return Err(Stop::Blocked(
            "needs users whose accounts are known: --control".to_owned(),
        ));
    }
    for provider in run.providers.clone() {
        for user in QueuedUser::FURTHER {
            let login = session::start(run, provider).await?;
            let url = &login.authorization_url;
            let mut pending = sign_in::up_to_callback(run, url, provider, user).await?;
            pending.deliver(run).await?;
            let exchange = result::read(run, &login.key).await?;
            let body = exchange.response.json();
            if body["profile"].is_object() {
                profile::check(run, &exchange, &body["profile"], provider, user);
            }
        }
    }
    Ok(())
}
