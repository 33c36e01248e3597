//! The backend's part of the clean callback flow: `POST /v1/login/session` and
//! `POST /v1/login/result`. The browser's part is in [`visit`](super::visit).

use contract::{Digest, LoginLifetime, LoginSessionRequest, LoginSessionResponse, Rule};
use rocket::serde::json::Json;
use rocket::{State, post};

use super::context::Trace;
use super::request::authenticated::Authenticated;
use super::response::refusal::Refusal;
use crate::Broker;
use crate::audit::Step;
use crate::model::LoginId;
use crate::model::login_session::{LoginOutcome, open};
use crate::random;
use crate::store::{Completed, Opened, StoreError};

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
