//! `POST /v1/login/session`.

use contract::{LoginLifetime, LoginSessionRequest, LoginSessionResponse};
use rocket::serde::json::Json;
use rocket::{State, post};

use super::context::RequestContext;
use super::request::authenticated::Authenticated;
use super::response::refusal::Refusal;
use crate::Broker;
use crate::sign_in::clean;

#[post("/v1/login/session", data = "<request>")]
pub(super) async fn start(
    request: Authenticated<LoginSessionRequest>,
    broker: &State<Broker>,
    context: &RequestContext,
) -> Result<Json<LoginSessionResponse>, Refusal> {
    let core = &broker.core;
    let report = clean::start(core, &request.project, &request).await;
    let handle = context.log(report)?;
    let url = format!("{}/login/{}", core.base_url, handle.expose());
    Ok(Json(LoginSessionResponse {
        authorization_url: url.parse().expect("an origin and a handle make such a URL"),
        expires_in: LoginLifetime {},
    }))
}
