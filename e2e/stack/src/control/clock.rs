//! The clock: read it, or move it ahead. It never goes back, except by a reset.

use std::sync::Arc;

use rocket::serde::json::Json;
use rocket::{State, get, post};
use serde::{Deserialize, Serialize};

use super::json_body::JsonBody;
use crate::control_error::ControlError;
use crate::runtime::StackRuntime;

#[derive(Serialize)]
pub(super) struct ClockReading {
    now: i64,
    advanced_seconds: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Advance {
    seconds: f64,
}

#[get("/api/clock")]
pub(super) fn read(runtime: &State<Arc<StackRuntime>>) -> Json<ClockReading> {
    Json(ClockReading {
        now: runtime.clock.now_ms().div_euclid(1000),
        advanced_seconds: seconds(runtime.clock.advanced_ms()),
    })
}

#[post("/api/clock/advance", data = "<advance>")]
#[expect(
    clippy::needless_pass_by_value,
    reason = "Rocket passes a body by value"
)]
pub(super) fn advance(
    advance: JsonBody<Advance>,
    runtime: &State<Arc<StackRuntime>>,
) -> Result<Json<ClockReading>, ControlError> {
    let advanced = runtime.clock.advance_seconds(advance.0.seconds);
    advanced.map_err(ControlError::bad_request)?;
    Ok(read(runtime))
}

#[expect(
    clippy::cast_precision_loss,
    reason = "ten years of milliseconds fit 53 bits"
)]
fn seconds(ms: i64) -> f64 {
    ms as f64 / 1000.0
}
