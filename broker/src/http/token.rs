//! `POST /v1/token`.

use contract::{TokenRequest, TokenResponse};
use rocket::serde::json::Json;
use rocket::{State, post};

use super::context::RequestContext;
use super::request::authenticated::Authenticated;
use super::response::refusal::Refusal;
use crate::Broker;
use crate::sign_in::legacy;

#[post("/v1/token", data = "<request>")]
pub(super) async fn redeem(
    request: Authenticated<TokenRequest>,
    broker: &State<Broker>,
    context: &RequestContext,
) -> Result<Json<TokenResponse>, Refusal> {
    let report = legacy::redeem(&broker.core, &request.project, &request).await;
    Ok(Json(TokenResponse::issuing(context.log(report)?)))
}
