//! The backend's part of the clean callback flow: `POST /v1/login/session` and
//! `POST /v1/login/result`. The browser's part is in [`visit`](super::visit).

use contract::{
    Digest, LoginLifetime, LoginResult, LoginResultRequest, LoginSessionRequest,
    LoginSessionResponse, Rule,
};
use rocket::serde::json::Json;
use rocket::{State, post};

use super::error::Refusal;
use super::guards::Authenticated;
use super::log::Trace;
use crate::Broker;
use crate::audit::Step;
use crate::model::LoginId;
use crate::model::login_session::{Ask, LoginOutcome, StillPending, open};
use crate::random;
use crate::store::{Completed, Opened, ResultRead, StoreError};

#[post("/v1/login/session", data = "<request>")]
pub(super) async fn start(
    request: Authenticated<LoginSessionRequest>,
    broker: &State<Broker>,
    trace: &Trace,
) -> Result<Json<LoginSessionResponse>, Refusal> {
    trace.login(&LoginId::of_key(&request.session_key));
    request.project.check_callback(&request.redirect_uri)?;
    if !broker.upstreams.offers(request.provider) {
        return Err(Rule::ProviderOffered.into());
    }
    let handle = Digest::from_bytes(random::bytes32()).to_text();
    let now = broker.now();
    let (limits, project) = (&broker.limits, &request.project.client_id);
    let later = |later| trace.later(later);
    let counted = limits.session(project, now).map_err(later)?;
    let login = open(&request, Digest::of(handle.as_bytes()), now);
    let opened = broker.store.open(login, now).await;
    if !matches!(opened, Ok(Opened::Fresh)) {
        limits.not_begun(project, counted);
    }
    match opened? {
        Opened::KeyTaken => Err(Rule::SessionKeyFresh.into()),
        Opened::Fresh => {
            trace.committed(Step::Opened);
            let url = format!("{}/login/{handle}", broker.base_url);
            Ok(Json(LoginSessionResponse {
                authorization_url: url.parse().expect("an origin and a handle make such a URL"),
                expires_in: LoginLifetime {},
            }))
        }
    }
}

#[post("/v1/login/result", data = "<request>")]
pub(super) async fn result(
    request: Authenticated<LoginResultRequest>,
    broker: &State<Broker>,
    trace: &Trace,
) -> Result<Json<LoginResult>, Refusal> {
    trace.login(&LoginId::of_key(&request.session_key));
    match broker
        .store
        .consume_result(Ask::of(&request), broker.now())
        .await?
    {
        ResultRead::Pending(StillPending) => Ok(Json(LoginResult::Pending)),
        ResultRead::Refused(rule) => Err(rule.into()),
        ResultRead::Outcome(outcome) => {
            trace.committed(Step::ResultConsumed);
            Ok(Json(match outcome {
                LoginOutcome::Succeeded(profile) => LoginResult::Succeeded { profile },
                LoginOutcome::Failed(error) => LoginResult::Failed { error },
            }))
        }
    }
}

/// Gives the login of `handle` its outcome, if it has none.
pub(super) async fn settle(
    broker: &Broker,
    trace: &Trace,
    handle: Digest,
    outcome: LoginOutcome,
) -> Result<(), StoreError> {
    if let Completed::Now = broker.store.complete(handle, outcome, broker.now()).await? {
        trace.committed(Step::Completed);
    }
    Ok(())
}
