//! The control address: an HTTP API with which a test in any language controls the
//! stack. The calls, with examples, are documented in `e2e/README.md`. The pages of the
//! inspector are served at the same address.

mod call_list;
mod clock;
mod contract_page;
mod events;
mod faults;
#[cfg(test)]
mod fuzz;
mod guard;
mod json_body;
mod logins;
mod projects;
mod response_headers;
mod source_page;
mod upstreams;

pub(crate) use faults::NOT_HELD;
pub(crate) use json_body::JsonBody;
pub(crate) use projects::NewProject;

use std::net::SocketAddr;
use std::sync::Arc;

use rocket::response::status::NoContent;
use rocket::serde::json::{Json, Value, json};
use rocket::shield::Shield;
use rocket::{Build, Rocket, State, catchers, get, post, routes};

use crate::control_error::{self, ControlError};
use crate::inspector;
use crate::lessons;
use crate::runtime::StackRuntime;

/// The stack that a control address serves, and the host name that it accepts besides
/// those of the stack.
#[derive(Clone)]
pub(crate) struct ControlServer {
    runtime: Arc<StackRuntime>,
    host: Option<String>,
}

impl ControlServer {
    pub(crate) fn new(runtime: Arc<StackRuntime>, host: Option<String>) -> Self {
        Self { runtime, host }
    }
}

/// The server of the control address.
pub(crate) fn rocket(server: ControlServer, address: SocketAddr) -> Rocket<Build> {
    let own_name = server.runtime.reach.host.as_ref();
    let guard = guard::ControlGuard {
        scheme: server.runtime.reach.scheme(),
        more_hosts: own_name
            .map(ToString::to_string)
            .into_iter()
            .chain(server.host)
            .collect(),
    };
    rocket::custom(broker::http::config(address))
        .attach(Shield::new())
        .attach(response_headers::ResponseHeaders)
        .manage(server.runtime)
        .manage(guard)
        .manage(events::FreeStreams::default())
        .mount("/", guard::routes())
        .mount("/", contract_page::routes())
        .mount("/", inspector::routes())
        .mount("/", lessons::routes())
        .mount("/", source_page::routes())
        .mount(
            "/",
            routes![
                call_list::page,
                stack,
                reset,
                clock::read,
                clock::advance,
                projects::list,
                projects::register,
                projects::allow_callback,
                upstreams::settings,
                upstreams::configure,
                upstreams::rotate_keys,
                upstreams::next,
                upstreams::take_back,
                upstreams::misbehaviours,
                upstreams::requests,
                faults::arm,
                faults::armed,
                faults::clear,
                faults::held,
                faults::let_go,
                faults::disarm,
                events::list,
                events::stream,
                events::exchange,
                logins::list,
                logins::one,
            ],
        )
        .register("/", catchers![control_error::catch])
}

/// The URLs of the stack.
#[get("/api/stack")]
fn stack(runtime: &State<Arc<StackRuntime>>) -> Json<Value> {
    let urls = &runtime.urls;
    let mut description = json!({
        "broker": urls.broker,
        "consumer": urls.consumer,
        "upstreams": { "google": urls.google, "github": urls.github },
    });
    if let Some(path) = runtime.ca_file() {
        description["ca_file"] = json!(path);
    }
    Json(description)
}

/// See [`Stack::reset`](crate::Stack::reset).
#[post("/api/reset")]
async fn reset(runtime: &State<Arc<StackRuntime>>) -> Result<NoContent, ControlError> {
    let reset = runtime.reset().await;
    reset.map(|()| NoContent).map_err(ControlError::internal)
}
