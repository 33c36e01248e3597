//! The control address: an HTTP API with which a test in any language controls the
//! stack. The calls, with examples, are documented in `docs/CONTROL.md`. The pages of the
//! inspector are served at the same address, and their forms do the same as the calls.

pub(crate) mod call_list;
mod contract_page;
mod events;
mod faults;
#[cfg(test)]
mod fuzz;
mod guard;
mod guide_page;
mod imitations;
mod rules_page;
mod source_page;
mod stack;
mod upstreams;

pub use call_list::Call;
pub(crate) use imitations::serve_imitations;
pub(crate) use stack::NewProject;

use std::net::SocketAddr;
use std::sync::Arc;

use rocket::shield::Shield;
use rocket::{Build, Rocket, catchers, routes};

use crate::inspector;
use crate::lessons;
use crate::practice;
use crate::request;
use crate::runtime::{Reach, ServerName, StackRuntime};
use call_list::ControlCalls;

/// The control address in messages about its listener.
pub(crate) const NAME: ServerName = ServerName("the control address", "control");

/// The calls that every control address has, also that of a sandbox.
pub(crate) fn calls() -> Vec<Call> {
    let calls = [
        guide_page::calls(),
        stack::common_calls(),
        stack::calls(),
        upstreams::calls(),
        faults::calls(),
        events::calls(),
        practice::practice_calls(),
        stack::reset_call(),
    ];
    calls.into_iter().flatten().collect()
}

/// The server of the control address, which accepts `host` besides the hosts of the stack.
pub(crate) fn rocket(
    runtime: Arc<StackRuntime>,
    host: Option<String>,
    address: SocketAddr,
) -> Rocket<Build> {
    let forms = [
        stack::forms(),
        upstreams::forms(),
        faults::forms(),
        events::forms(),
    ];
    server(&runtime.reach, host, address, calls())
        .attach(events::state_changes())
        .manage(runtime)
        .manage(events::FreeStreams::default())
        .manage(lessons::Attacks::default())
        .mount("/", forms.concat())
        .mount("/", routes![call_list::page, guide_page::text])
        .mount("/", contract_page::routes())
        .mount("/", rules_page::routes())
        .mount("/", source_page::routes())
        .mount("/", inspector::routes())
        .mount("/", lessons::routes())
        .mount("/", practice::routes())
}

/// A server with these calls, their guard and the answer to all others.
fn server(
    reach: &Reach,
    host: Option<String>,
    address: SocketAddr,
    calls: Vec<Call>,
) -> Rocket<Build> {
    let own_name = reach.host.as_ref().map(ToString::to_string);
    let guard = guard::ControlGuard {
        scheme: reach.scheme(),
        more_hosts: own_name.into_iter().chain(host).collect(),
    };
    let handlers: Vec<_> = calls.iter().map(|call| call.route.clone()).collect();
    rocket::custom(broker::http::config(address))
        .attach(Shield::new())
        .attach(guard::response_headers())
        .manage(guard)
        .manage(ControlCalls(calls))
        .mount("/", guard::routes())
        .mount("/", handlers)
        .register("/", catchers![request::catch])
}
