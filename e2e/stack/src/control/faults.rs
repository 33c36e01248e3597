//! Faults: which one strikes which call.

use std::sync::Arc;
use std::time::Duration;

use rocket::http::Status;
use rocket::serde::json::{Json, Value, json};
use rocket::{State, delete, get, post};
use serde::Deserialize;

use super::answer::{Body, Done, Refused, parsed};
use crate::faults::{Fault, Order, Standing};
use crate::world::World;

/// Longer than any client waits.
const MOST_DELAY_MS: u64 = 600_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Wish {
    operation: String,
    fault: String,
    #[serde(default = "next")]
    nth: u32,
    #[serde(default)]
    sticky: bool,
    delay_ms: Option<u64>,
}

fn next() -> u32 {
    1
}

#[post("/api/faults", data = "<wish>")]
pub(super) fn arm(
    wish: Body<Wish>,
    world: &State<Arc<World>>,
) -> Result<(Status, Json<Value>), Refused> {
    let order = order(wish.0)?;
    let id = world.watch.faults.arm(order);
    Ok((Status::Created, Json(json!({ "id": id }))))
}

fn order(wish: Wish) -> Result<Order, Refused> {
    let Wish {
        operation,
        fault,
        nth,
        sticky,
        delay_ms,
    } = wish;
    let fault: Fault = parsed("fault", &fault)?;
    if nth == 0 {
        return Err(Refused::bad("nth: 1 is the next call"));
    }
    let order = Order {
        nth,
        sticky,
        ..Order::next(parsed("operation", &operation)?, fault)
    };
    match (delay_ms, fault) {
        (None, _) => Ok(order),
        (Some(ms), Fault::Delay) if ms <= MOST_DELAY_MS => Ok(Order {
            delay: Duration::from_millis(ms),
            ..order
        }),
        (Some(_), Fault::Delay) => Err(Refused::bad(format!(
            "delay_ms: at most {MOST_DELAY_MS}, in milliseconds"
        ))),
        (Some(_), _) => Err(Refused::bad("delay_ms belongs to the fault delay alone")),
    }
}

#[get("/api/faults")]
pub(super) fn standing(world: &State<Arc<World>>) -> Json<Vec<Standing>> {
    Json(world.watch.faults.standing())
}

#[delete("/api/faults")]
pub(super) fn clear(world: &State<Arc<World>>) -> Done {
    world.watch.faults.clear();
    Done
}
