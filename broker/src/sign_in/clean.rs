//! A backend's part of the clean callback flow: it starts a login session, and reads its
//! result.

use contract::{LoginResult, LoginResultRequest, LoginSessionRequest, Rule};

use super::answer::Refused;
use super::broker_core::BrokerCore;
use crate::audit::{Event, Step};
use crate::model::LoginId;
use crate::model::login_session::{self, Handle, LoginOutcome, ResultQuery, StillPending};
use crate::projects::Project;
use crate::random;
use crate::store::{Opened, ResultRead};

/// Starts a login session. Returns the handle of its authorization URL.
pub(crate) async fn start(
    core: &BrokerCore,
    project: &Project,
    request: &LoginSessionRequest,
    event: &mut Event,
) -> Result<Handle, Refused> {
    let (client_id, limits) = (&project.client_id, &core.limits);
    event.project = Some(client_id.clone());
    event.provider = Some(request.provider);
    event.login = Some(LoginId::of_key(&request.session_key));
    project.check_callback(&request.redirect_uri)?;
    if !core.upstreams.offers(request.provider) {
        return Err(Rule::ProviderOffered.into());
    }
    let handle = Handle::from_random(random::bytes32());
    let now = core.now();
    let counted = limits.count_session(client_id, now)?;
    let login = login_session::open(request, handle.digest(), now);
    let opened = core.store.open(login, now).await;
    if !matches!(opened, Ok(Opened::Fresh)) {
        limits.uncount_session(client_id, counted);
    }
    match opened? {
        Opened::Fresh => {
            event.steps.push(Step::Opened);
            Ok(handle)
        }
        Opened::KeyTaken => Err(Rule::SessionKeyFresh.into()),
    }
}

/// Reads the result of a login session, and consumes it if it is terminal.
pub(crate) async fn read_result(
    core: &BrokerCore,
    project: &Project,
    request: &LoginResultRequest,
    event: &mut Event,
) -> Result<LoginResult, Refused> {
    event.project = Some(project.client_id.clone());
    event.login = Some(LoginId::of_key(&request.session_key));
    // The callback may have been withdrawn since the login began.
    project.check_callback(&request.redirect_uri)?;
    let query = ResultQuery::of(request);
    match core.store.consume_result(query, core.now()).await? {
        ResultRead::Pending(StillPending) => Ok(LoginResult::Pending),
        ResultRead::Refused(rule) => Err(rule.into()),
        ResultRead::Outcome(outcome) => {
            event.steps.push(Step::ResultConsumed);
            Ok(match outcome {
                LoginOutcome::Succeeded(profile) => LoginResult::Succeeded { profile },
                LoginOutcome::Failed(error) => LoginResult::Failed { error },
            })
        }
    }
}
