//! `POST /v1/login/session`.

use contract::{AuthorizationUrl, LoginLifetime, LoginSessionRequest, LoginSessionResponse};
use rocket::serde::json::Json;
use rocket::{State, post};

use super::context::RequestContext;
use super::request::authenticated::Authenticated;
use super::request::new_login::NewLogin;
use super::response::refusal::Refusal;
use crate::Broker;
use crate::sign_in::clean;

#[post("/v1/login/session", data = "<request>")]
pub(super) async fn start(
    _new: NewLogin,
    request: Authenticated<LoginSessionRequest>,
    broker: &State<Broker>,
    context: &RequestContext,
) -> Result<Json<LoginSessionResponse>, Refusal> {
    let core = &broker.core;
    let report = clean::start(core, &request.project, &request).await;
    let handle = context.log(report)?;
    Ok(Json(LoginSessionResponse {
        authorization_url: AuthorizationUrl::of_handle(&core.base_url, handle.expose()),
        expires_in: LoginLifetime {},
    }))
}
