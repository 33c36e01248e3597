//! `POST /v1/token`.

use contract::{TokenRequest, TokenResponse};
use rocket::http::Header;
use rocket::serde::json::Json;
use rocket::{Responder, State, post};

use super::context::RequestContext;
use super::request::authenticated::Authenticated;
use super::response::refusal::Refusal;
use crate::Broker;
use crate::sign_in::legacy;

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
    let report = legacy::redeem(&broker.core, &request.project, &request).await;
    Ok(TokenAnswer {
        token: Json(TokenResponse::issuing(context.log(report)?)),
        pragma: Header::new("Pragma", "no-cache"),
    })
}
