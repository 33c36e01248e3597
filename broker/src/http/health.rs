//! `GET /livez` and `GET /readyz`, for a load balancer or a monitor.

use rocket::serde::json::{Json, Value, json};
use rocket::{State, get};

use super::response::refusal::Refusal;
use crate::Broker;

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
