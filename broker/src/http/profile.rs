//! The legacy flow's identity: `GET /v1/profile`.

use contract::{Profile, Rule};
use rocket::serde::json::Json;
use rocket::{State, get};

use super::context::Trace;
use super::request::bearer::Bearer;
use super::response::refusal::Refusal;
use crate::Broker;

#[get("/v1/profile")]
pub(super) async fn read(
    bearer: Bearer,
    broker: &State<Broker>,
    trace: &Trace,
) -> Result<Json<Profile>, Refusal> {
    let now = broker.now();
    let token = broker
        .store
        .token(bearer.0.digest(), now)
        .await?
        .ok_or(Rule::BearerKnown)?;
    trace.project(&token.project);
    trace.login(&token.login);
    Ok(Json(token.open(now)?))
}
