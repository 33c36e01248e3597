//! The clock: read it, move it ahead. It never goes back; a reset begins anew.

use std::sync::Arc;
use std::time::Duration;

use rocket::serde::json::Json;
use rocket::{State, get, post};
use serde::{Deserialize, Serialize};

use super::answer::{Body, Refused};
use crate::world::World;

/// Ten years: enough for any test, and far from where times overflow.
const MOST_SECONDS: f64 = 315_360_000.0;

#[derive(Serialize)]
pub(super) struct Time {
    now: i64,
    advanced_seconds: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Step {
    seconds: f64,
}

#[get("/api/clock")]
pub(super) fn read(world: &State<Arc<World>>) -> Json<Time> {
    Json(Time {
        now: world.clock.now_ms().div_euclid(1000),
        advanced_seconds: seconds(world.clock.advanced_ms()),
    })
}

#[post("/api/clock/advance", data = "<wish>")]
#[expect(
    clippy::needless_pass_by_value,
    reason = "Rocket hands a body over by value"
)]
pub(super) fn advance(wish: Body<Step>, world: &State<Arc<World>>) -> Result<Json<Time>, Refused> {
    step(world, wish.0.seconds)?;
    Ok(read(world))
}

/// Moves the clock ahead, if it may be moved so far.
pub(crate) fn step(world: &World, seconds: f64) -> Result<(), Refused> {
    if !(0.0..=MOST_SECONDS).contains(&seconds) {
        return Err(Refused::bad(
            "seconds must be between 0 and 315360000: the clock does not go back; \
             POST /api/reset begins a new world at the system's time",
        ));
    }
    world.clock.advance(Duration::from_secs_f64(seconds));
    Ok(())
}

#[expect(
    clippy::cast_precision_loss,
    reason = "ten years of milliseconds fit 53 bits"
)]
fn seconds(ms: i64) -> f64 {
    ms as f64 / 1000.0
}
