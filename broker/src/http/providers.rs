//! `GET /api/providers`.

use contract::ProviderStatus;
use rocket::serde::json::Json;
use rocket::{State, get};

use crate::Broker;

#[get("/api/providers")]
pub(super) fn list(broker: &State<Broker>) -> Json<Vec<ProviderStatus>> {
    let core = &broker.core;
    Json(core.upstreams.statuses(core.now()))
}
