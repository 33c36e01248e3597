//! `POST /v1/revoke`.

use rocket::serde::json::{Json, Value, json};
use rocket::{State, post};

use super::context::RequestContext;
use super::request::bearer::Bearer;
use super::response::refusal::Refusal;
use crate::Broker;
use crate::sign_in::legacy;

/// A body is neither read nor required.
#[post("/v1/revoke")]
pub(super) async fn revoke(
    bearer: Bearer,
    broker: &State<Broker>,
    context: &RequestContext,
) -> Result<Json<Value>, Refusal> {
    let report = legacy::revoke(&broker.core, &bearer.0).await;
    context.log(report)?;
    Ok(Json(json!({})))
}
