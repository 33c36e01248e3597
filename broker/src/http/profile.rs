//! `GET /v1/profile`.

use contract::Profile;
use rocket::serde::json::Json;
use rocket::{State, get};

use super::context::RequestContext;
use super::request::bearer::Bearer;
use super::response::refusal::Refusal;
use crate::Broker;
use crate::sign_in::legacy;

#[get("/v1/profile")]
pub(super) async fn read(
    bearer: Bearer,
    broker: &State<Broker>,
    context: &RequestContext,
) -> Result<Json<Profile>, Refusal> {
    let report = legacy::profile(&broker.core, &bearer.0).await;
    Ok(Json(context.log(report)?))
}
