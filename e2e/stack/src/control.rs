//! The control address: everything a test in any language needs to move the
//! stack, as JSON over HTTP. DESIGN.md's table of calls, with examples, is in
//! `e2e/README.md`. For people it has the pages of the inspector.

mod answer;
mod clock;
mod contract;
mod events;
mod faults;
mod guard;
#[cfg(test)]
mod hostile;
mod index;
mod logins;
mod projects;
mod upstreams;

use std::net::SocketAddr;
use std::sync::Arc;

use rocket::serde::json::{Json, Value, json};
use rocket::shield::Shield;
use rocket::{Build, Rocket, State, catchers, get, post, routes};

use crate::inspector;
use crate::world::World;
use answer::Done;
pub(crate) use answer::{Refused, parsed};
pub(crate) use clock::step as advance;

/// What the control address serves, and by which names it may be called.
#[derive(Clone)]
pub(crate) struct Control {
    world: Arc<World>,
    host: Option<String>,
}

impl Control {
    pub(crate) fn new(world: Arc<World>, host: Option<String>) -> Self {
        Self { world, host }
    }
}

/// The server of the control address.
pub(crate) fn rocket(control: Control, bind: SocketAddr) -> Rocket<Build> {
    rocket::custom(broker::http::config(bind))
        .attach(Shield::new())
        .attach(answer::Headers)
        .manage(control.world.clone())
        .manage(guard::Names(control.host))
        .mount("/", guard::routes())
        .mount("/", contract::routes())
        .mount("/", inspector::routes())
        .mount(
            "/",
            routes![
                index::page,
                stack,
                reset,
                clock::read,
                clock::advance,
                projects::list,
                projects::register,
                upstreams::adjust,
                upstreams::rotate_keys,
                upstreams::next,
                upstreams::misbehaviours,
                upstreams::requests,
                faults::arm,
                faults::standing,
                faults::clear,
                events::list,
                events::stream,
                events::exchange,
                logins::list,
                logins::one,
            ],
        )
        .register("/", catchers![answer::catch])
}

/// Where everything is.
#[get("/api/stack")]
fn stack(world: &State<Arc<World>>) -> Json<Value> {
    let urls = &world.urls;
    Json(json!({
        "broker": urls.broker,
        "consumer": urls.consumer,
        "upstreams": { "google": urls.google, "github": urls.github },
    }))
}

/// A new world; registered projects stay.
#[post("/api/reset")]
async fn reset(world: &State<Arc<World>>) -> Result<Done, Refused> {
    world
        .reset()
        .await
        .map(|()| Done)
        .map_err(|error| Refused::failed(error.to_string()))
}
