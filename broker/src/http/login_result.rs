//! `POST /v1/login/result`.

use contract::{LoginResult, LoginResultRequest};
use rocket::serde::json::Json;
use rocket::{State, post};

use super::context::RequestContext;
use super::request::authenticated::Authenticated;
use super::response::refusal::Refusal;
use crate::Broker;
use crate::sign_in::clean;

#[post("/v1/login/result", data = "<request>")]
pub(super) async fn read(
    request: Authenticated<LoginResultRequest>,
    broker: &State<Broker>,
    context: &RequestContext,
) -> Result<Json<LoginResult>, Refusal> {
    let report = clean::read_result(&broker.core, &request.project, &request).await;
    Ok(Json(context.log(report)?))
}
