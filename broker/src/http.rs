//! The HTTP interface: routes, guards, statuses, headers, pages.
//!
//! The routes are in two files, `api` for backends and programs and `browser` for browsers.
//! A handler takes what it needs as types of `request`, calls one use case, which fills in
//! the event of the request's `context`, and answers with types of `response`. The status of
//! every refusal is in one table, in `response::refusal`. `finish` ends every request, and adds
//! the headers of every answer.
//!
//! Imports go one way: routes → `request` → `response` → `context`, with `raw_headers` below
//! them all.

mod api;
mod browser;

/// The types that handlers take. Each guard reads headers or a body once, and returns a
/// type with a meaning or refuses with the rule that was broken.
mod request {
    pub(crate) mod browser_request;
    pub(crate) mod guards;
    pub(crate) mod preconditions;

    mod client;
    mod upstream_login_cookies;
}

/// The types that handlers answer with.
mod response {
    pub(crate) mod pages;
    pub(crate) mod redirect;
    pub(crate) mod refusal;
}

mod context;
mod dropped_headers;
mod finish;
mod raw_headers;
mod server;

use rocket::shield::Shield;
use rocket::{Build, Rocket, catchers, routes};

pub use dropped_headers::{RestoreDroppedHeaders, watch as watch_dropped_headers};
pub use raw_headers::is_host;
pub use server::{InFlight, config, operator};

use crate::Broker;
use crate::startup::background;
use request::preconditions::{self, NoHeadByForm, wrong_methods};

impl Broker {
    /// The web server, not yet listening. It installs no signal handler and reads
    /// no configuration of its own.
    pub fn rocket(self) -> Rocket<Build> {
        let routes = routes![
            api::start,
            browser::open,
            browser::open_head,
            browser::confirm,
            browser::cancel,
            api::read_result,
            browser::authorize,
            browser::authorize_head,
            browser::complete,
            browser::complete_head,
            browser::complete_confirmed,
            browser::end_fragment,
            browser::end_fragment_head,
            api::redeem,
            api::profile,
            api::revoke,
            api::providers,
            api::openapi,
            api::live,
            api::ready,
            browser::style,
            browser::script,
        ];
        let in_flight = InFlight::default();
        rocket::custom(server::own_config(&self))
            .manage(self)
            .attach(in_flight.fairing())
            .manage(in_flight)
            // The headers of `finish` are stricter.
            .attach(Shield::new())
            .attach(RestoreDroppedHeaders)
            .attach(NoHeadByForm)
            .attach(finish::fairing())
            .attach(background::fairing())
            .mount("/", preconditions::routes())
            .mount("/", wrong_methods(&routes))
            .mount("/", routes)
            .register("/", catchers![finish::catch])
    }
}
