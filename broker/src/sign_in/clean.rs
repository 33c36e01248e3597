//! The clean callback flow: start · open · confirm · cancel · complete · read_result.

mod visit;

mod completion;

use contract::{LoginResult, LoginResultRequest, LoginSessionRequest, Rule};

use super::broker_core::BrokerCore;
use super::report::{LogFields, Refused, Report};
use crate::audit::Step;
use crate::model::LoginId;
use crate::model::login_session::{self, Handle, LoginOutcome, ResultQuery, StillPending};
use crate::projects::Project;
use crate::random;
use crate::store::{Opened, ResultRead};

pub(crate) use completion::CleanCallback;
pub(super) use completion::complete;
pub(crate) use visit::{LoginVisit, VisitRedirect, VisitResponse};

/// Starts a login session. Returns the handle of its authorization URL.
pub(crate) async fn start(
    core: &BrokerCore,
    project: &Project,
    request: &LoginSessionRequest,
) -> Report<Handle> {
    let mut log = LogFields {
        project: Some(project.client_id.clone()),
        provider: Some(request.provider),
        login: Some(LoginId::of_key(&request.session_key)),
        ..LogFields::default()
    };
    let result = open_session(core, project, request).await;
    if result.is_ok() {
        log.steps.push(Step::Opened);
    }
    Report { log, result }
}

async fn open_session(
    core: &BrokerCore,
    project: &Project,
    request: &LoginSessionRequest,
) -> Result<Handle, Refused> {
    project.check_callback(&request.redirect_uri)?;
    if !core.upstreams.offers(request.provider) {
        return Err(Rule::ProviderOffered.into());
    }
    let handle = Handle::from_random(random::bytes32());
    let (client_id, limits, now) = (&project.client_id, &core.limits, core.now());
    let counted = limits.count_session(client_id, now)?;
    let login = login_session::open(request, handle.digest(), now);
    let opened = core.store.open(login, now).await;
    if !matches!(opened, Ok(Opened::Fresh)) {
        limits.uncount_session(client_id, counted);
    }
    match opened? {
        Opened::Fresh => Ok(handle),
        Opened::KeyTaken => Err(Rule::SessionKeyFresh.into()),
    }
}

/// Reads the result of a login session, and consumes it if it is terminal.
pub(crate) async fn read_result(
    core: &BrokerCore,
    project: &Project,
    request: &LoginResultRequest,
) -> Report<LoginResult> {
    let mut log = LogFields {
        project: Some(project.client_id.clone()),
        login: Some(LoginId::of_key(&request.session_key)),
        ..LogFields::default()
    };
    let result = match consume_result(core, project, request).await {
        Ok(ResultRead::Pending(StillPending)) => Ok(LoginResult::Pending),
        Ok(ResultRead::Refused(rule)) => Err(rule.into()),
        Ok(ResultRead::Outcome(outcome)) => {
            log.steps.push(Step::ResultConsumed);
            Ok(match outcome {
                LoginOutcome::Succeeded(profile) => LoginResult::Succeeded { profile },
                LoginOutcome::Failed(error) => LoginResult::Failed { error },
            })
        }
        Err(refused) => Err(refused),
    };
    Report { log, result }
}

async fn consume_result(
    core: &BrokerCore,
    project: &Project,
    request: &LoginResultRequest,
) -> Result<ResultRead, Refused> {
    // The callback may have been withdrawn since the login began.
    project.check_callback(&request.redirect_uri)?;
    let query = ResultQuery::of(request);
    Ok(core.store.consume_result(query, core.now()).await?)
}
