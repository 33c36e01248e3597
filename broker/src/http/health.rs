//! For whoever watches over the broker: is it alive, and could it take a step?

use rocket::serde::json::{Json, Value, json};
use rocket::{State, get};

use super::response::refusal::Refusal;
use crate::Broker;

/// The process answers.
#[get("/livez")]
pub(super) fn live() -> Json<Value> {
    Json(json!({ "status": "live" }))
}

/// The store answers, too, and its clock agrees with ours: send browsers and backends here.
#[get("/readyz")]
pub(super) async fn ready(broker: &State<Broker>) -> Result<Json<Value>, Refusal> {
    broker.ready().await?;
    Ok(Json(json!({ "status": "ready" })))
}
