//! The completion of a login session.

use contract::{ClientId, Digest, RedirectUri};

use crate::audit::Step;
use crate::model::login_session::LoginOutcome;
use crate::sign_in::broker_core::BrokerCore;
use crate::sign_in::report::{LogFields, Refused};
use crate::sign_in::returned::{ConsumeError, Returned};
use crate::store::{Completed, StoreError};

/// A project's callback that a browser is sent back to. It carries nothing.
pub(crate) struct CleanCallback {
    pub(crate) project: ClientId,
    pub(crate) redirect_uri: RedirectUri,
}

/// Completes the session of a browser that is back from its provider. The browser
/// goes on to the callback whatever the outcome, which its backend reads.
pub(crate) async fn complete(
    returned: &Returned<'_>,
    handle: Digest,
    redirect_uri: RedirectUri,
    log: &mut LogFields,
) -> Result<CleanCallback, Refused> {
    match returned.consume(log).await {
        Ok(()) => {
            let outcome = match returned.outcome(log).await {
                Ok(profile) => LoginOutcome::Succeeded(profile),
                Err(error) => LoginOutcome::Failed(error),
            };
            // The upstream login is consumed: the browser goes back even if the store
            // fails now, and its backend finds the login still pending.
            if let Err(error) = complete_session(returned.core, handle, outcome, log).await {
                log.rule = Some(Refused::from(error).rule);
            }
        }
        Err(ConsumeError::Over(rule)) => log.rule = Some(rule),
        Err(ConsumeError::Store(error)) => return Err(error.into()),
    }
    Ok(CleanCallback {
        project: returned.upstream_login.project.clone(),
        redirect_uri,
    })
}

/// Gives the session of `handle` its outcome, if it has none.
pub(super) async fn complete_session(
    core: &BrokerCore,
    handle: Digest,
    outcome: LoginOutcome,
    log: &mut LogFields,
) -> Result<(), StoreError> {
    match core.store.complete(handle, outcome, core.now()).await? {
        Completed::Now => log.steps.push(Step::Completed),
        Completed::TooLate => {}
    }
    Ok(())
}
