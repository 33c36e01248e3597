//! The endpoints for backends and programs: `POST /v1/login/session`, `/v1/login/result`,
//! `/v1/token` and `/v1/revoke`; `GET /v1/profile`, `/api/providers`, `/openapi.json`,
//! `/livez` and `/readyz`.

use contract::{
    AuthorizationUrl, LoginLifetime, LoginResult, LoginResultRequest, LoginSessionRequest,
    LoginSessionResponse, Profile, ProviderStatus, TokenRequest, TokenResponse,
};
use rocket::http::Header;
use rocket::response::content::RawJson;
use rocket::serde::json::{Json, Value, json};
use rocket::{Responder, State, get, post};

use super::context::RequestContext;
use super::request::guards::{Authenticated, Bearer, NewLogin};
use super::response::refusal::Refusal;
use crate::Broker;
use crate::sign_in::{clean, legacy};

#[post("/v1/login/session", data = "<request>")]
pub(super) async fn start(
    _new: NewLogin,
    request: Authenticated<LoginSessionRequest>,
    broker: &State<Broker>,
    context: &RequestContext,
) -> Result<Json<LoginSessionResponse>, Refusal> {
    let (core, mut event) = (&broker.core, context.event());
    let handle = clean::start(core, &request.project, &request, &mut event).await?;
    Ok(Json(LoginSessionResponse {
        authorization_url: AuthorizationUrl::of_handle(&core.base_url, handle.expose()),
        expires_in: LoginLifetime {},
    }))
}

#[post("/v1/login/result", data = "<request>")]
pub(super) async fn read_result(
    request: Authenticated<LoginResultRequest>,
    broker: &State<Broker>,
    context: &RequestContext,
) -> Result<Json<LoginResult>, Refusal> {
    let mut event = context.event();
    let result = clean::read_result(&broker.core, &request.project, &request, &mut event);
    Ok(Json(result.await?))
}

/// A token, which no cache keeps, however old (RFC 6749 section 5.1).
#[derive(Responder)]
pub(super) struct TokenAnswer {
    token: Json<TokenResponse>,
    pragma: Header<'static>,
}

#[post("/v1/token", data = "<request>")]
pub(super) async fn redeem(
    request: Authenticated<TokenRequest>,
    broker: &State<Broker>,
    context: &RequestContext,
) -> Result<TokenAnswer, Refusal> {
    let mut event = context.event();
    let token = legacy::redeem(&broker.core, &request.project, &request, &mut event).await?;
    Ok(TokenAnswer {
        token: Json(TokenResponse::issuing(token)),
        pragma: Header::new("Pragma", "no-cache"),
    })
}

#[get("/v1/profile")]
pub(super) async fn profile(
    bearer: Bearer,
    broker: &State<Broker>,
    context: &RequestContext,
) -> Result<Json<Profile>, Refusal> {
    let mut event = context.event();
    let profile = legacy::profile(&broker.core, &bearer.0, &mut event).await?;
    Ok(Json(profile))
}

/// A body is neither read nor required.
#[post("/v1/revoke")]
pub(super) async fn revoke(
    bearer: Bearer,
    broker: &State<Broker>,
    context: &RequestContext,
) -> Result<Json<Value>, Refusal> {
    let mut event = context.event();
    legacy::revoke(&broker.core, &bearer.0, &mut event).await?;
    Ok(Json(json!({})))
}

#[get("/api/providers")]
pub(super) fn providers(broker: &State<Broker>) -> Json<Vec<ProviderStatus>> {
    let core = &broker.core;
    Json(core.upstreams.statuses(core.now()))
}

/// The contract as an OpenAPI document.
#[get("/openapi.json")]
pub(super) fn openapi() -> RawJson<&'static str> {
    RawJson(contract::openapi::DOCUMENT)
}

/// The process answers.
#[get("/livez")]
pub(super) fn live() -> Json<Value> {
    Json(json!({ "status": "live" }))
}

/// The store answers too, and its clock agrees with the broker's: requests can be
/// answered.
#[get("/readyz")]
pub(super) async fn ready(broker: &State<Broker>) -> Result<Json<Value>, Refusal> {
    broker.ready().await?;
    Ok(Json(json!({ "status": "ready" })))
}
