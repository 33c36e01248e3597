//! The legacy flow's end: `POST /v1/revoke`.

use rocket::State;
use rocket::post;
use rocket::serde::json::{Json, Value, json};

use super::context::Trace;
use super::request::bearer::Bearer;
use super::response::refusal::Refusal;
use crate::Broker;
use crate::audit::Step;

/// Ends a token, known or not: whoever holds a well-formed one learns nothing by
/// revoking it. A body is neither read nor required.
#[post("/v1/revoke")]
pub(super) async fn revoke(
    bearer: Bearer,
    broker: &State<Broker>,
    trace: &Trace,
) -> Result<Json<Value>, Refusal> {
    if let Some(login) = broker.store.revoke(bearer.0.digest()).await? {
        trace.login(&login);
        trace.committed(Step::TokenRevoked);
    }
    Ok(Json(json!({})))
}
