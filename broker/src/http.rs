//! The HTTP interface: routes, guards, statuses, headers, pages.
//!
//! One file per path, named like it, but for `authorization_url` (`/login/{handle}` and its
//! buttons), `return_path` (`/return`), `health`, `assets` and `operator`. A handler takes
//! what it needs as types of `request`, calls one use case, hands the report to the request's
//! `context`, and answers with types of `response`. The status of every refusal is in
//! one table, in `response::refusal`.
//!
//! Imports go one way: routes → `request` → `response` → `context`, with `route_table`
//! and `raw_headers` below them all.

mod login_session;

mod authorization_url;

mod callback;
mod return_path;

mod login_result;

mod authorize;
mod token;

mod profile;
mod revoke;

mod assets;
mod health;
mod openapi;
mod providers;

mod request;
mod response;

mod audit_fairing;
mod catcher;
mod context;
mod dropped_headers;
mod host_header;
mod raw_headers;
mod route_table;

mod in_flight;
mod operator;
mod settings;

use rocket::shield::Shield;
use rocket::{Build, Rocket, catchers, routes};

pub use dropped_headers::{RestoreDroppedHeaders, watch as watch_dropped_headers};
pub use host_header::is_host;
pub use in_flight::InFlight;
pub use operator::operator;
pub use settings::config;

use crate::Broker;
use crate::startup::overload_probe::overload_probe;
use crate::startup::sweeper::sweeper;
use audit_fairing::AuditFairing;
use request::preconditions::{self, NoHeadByForm};
use request::wrong_method::wrong_methods;

impl Broker {
    /// The web server, not yet listening. It installs no signal handler and reads
    /// no configuration of its own.
    pub fn rocket(self) -> Rocket<Build> {
        rocket(self)
    }
}

fn rocket(broker: Broker) -> Rocket<Build> {
    let routes = routes![
        login_session::start,
        authorization_url::open,
        authorization_url::head,
        authorization_url::confirm,
        authorization_url::cancel,
        login_result::read,
        authorize::authorize,
        authorize::head,
        callback::complete,
        callback::head,
        callback::confirm,
        return_path::end_fragment,
        return_path::head,
        token::redeem,
        profile::read,
        revoke::revoke,
        providers::list,
        openapi::read,
        health::live,
        health::ready,
        assets::style,
        assets::script,
    ];
    let in_flight = InFlight::default();
    rocket::custom(settings::own_config(&broker))
        .manage(broker)
        .manage(in_flight.clone())
        .attach(in_flight)
        // The headers of `response::headers` are stricter.
        .attach(Shield::new())
        .attach(RestoreDroppedHeaders)
        .attach(NoHeadByForm)
        .attach(AuditFairing)
        .attach(sweeper())
        .attach(overload_probe())
        .mount("/", preconditions::routes())
        .mount("/", wrong_methods(&routes))
        .mount("/", routes)
        .register("/", catchers![catcher::catch])
}
