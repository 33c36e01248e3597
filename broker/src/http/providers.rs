//! `GET /api/providers`.

use contract::ProviderStatus;
use rocket::serde::json::Json;
use rocket::{State, get};

use crate::Broker;

#[get("/api/providers")]
pub(super) fn list(broker: &State<Broker>) -> Json<Vec<ProviderStatus>> {
    let sign_in = &broker.sign_in;
    Json(sign_in.upstreams.statuses(sign_in.now()))
}
