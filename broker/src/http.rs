//! The wire: routes, guards, statuses, pages.
//!
//! A handler takes what it needs as parsed types, asks the store for one step,
//! and shapes the answer. The status of every refusal is in one table, in
//! [`error`].

mod authorize;
mod callback;
mod client_redirect;
mod cookies;
mod error;
mod gates;
mod guards;
mod headers;
mod health;
mod in_flight;
mod log;
mod login;
mod methods;
mod openapi;
mod operator;
mod pages;
mod profile;
mod providers;
mod request_headers;
mod revoke;
mod source;
mod token;
mod upstream_logins;
mod visit;
mod visitor;

use std::collections::HashSet;
use std::net::SocketAddr;

use rocket::config::{Ident, LogLevel, Shutdown, TlsConfig};
use rocket::http::Status;
use rocket::http::uri::Origin;
use rocket::response::{self, Responder};
use rocket::shield::Shield;
use rocket::{Build, Config, Request, Response, Rocket, catchers, routes};

pub use in_flight::InFlight;
pub use operator::operator;

use crate::Broker;
use crate::query::Query;
use crate::startup::sweeper::sweeper;

impl Broker {
    /// The web server, not yet listening. It installs no signal handler and reads
    /// no configuration of its own.
    pub fn rocket(self) -> Rocket<Build> {
        rocket(self)
    }
}

fn rocket(broker: Broker) -> Rocket<Build> {
    let routes = routes![
        login::start,
        visit::arrive,
        visit::look,
        visit::go_on,
        visit::cancel,
        login::result,
        authorize::authorize,
        authorize::look,
        callback::arrive,
        callback::look,
        client_redirect::end_fragment,
        client_redirect::look,
        token::redeem,
        profile::read,
        revoke::revoke,
        providers::list,
        openapi::read,
        health::live,
        health::ready,
        pages::style,
        pages::script,
    ];
    let in_flight = InFlight::default();
    rocket::custom(own_config(&broker))
        .manage(broker)
        .manage(in_flight.clone())
        .attach(in_flight)
        // Ours, in `headers`, are stricter.
        .attach(Shield::new())
        .attach(gates::NoHeadByForm)
        .attach(log::Recorder)
        .attach(sweeper())
        .mount("/", gates::gates())
        .mount("/", methods::wrong_methods(&routes))
        .mount("/", routes)
        .register("/", catchers![error::catch])
}

/// The settings of a broker: it may encrypt, and takes its time to stop.
fn own_config(broker: &Broker) -> Config {
    let usual = config(broker.bind);
    let tls = |tls: &crate::config::TlsConfig| TlsConfig::from_paths(&tls.certificates, &tls.key);
    let ip_header = broker.ip_header.as_ref();
    Config {
        tls: broker.tls.as_ref().map(tls),
        ip_header: ip_header.map(|it| it.as_str().to_owned().into()),
        shutdown: Shutdown {
            grace: broker.shutdown_seconds,
            ..usual.shutdown.clone()
        },
        ..usual
    }
}

/// Rocket's settings for a server at `bind` that reads no configuration of its
/// own, handles no signals, and believes and logs nothing it should not.
pub fn config(bind: SocketAddr) -> Config {
    Config {
        address: bind.ip(),
        port: bind.port(),
        // Rocket would log request lines, whose paths and queries are secrets.
        log_level: LogLevel::Off,
        cli_colors: false,
        ident: Ident::none(),
        // No client may say where it calls from.
        ip_header: None,
        shutdown: Shutdown {
            ctrlc: false,
            signals: HashSet::new(),
            grace: 2,
            mercy: 1,
            ..Shutdown::default()
        },
        ..Config::release_default()
    }
}

/// The parameters of an address, which need not have any.
fn query_of<'a>(uri: &'a Origin<'_>) -> Query<'a> {
    Query::parse(uri.query().map_or("", |query| query.as_str()))
}

/// A redirect that a browser follows with GET, whatever it sent before.
///
/// The address is written as it is: a registered callback must leave byte for
/// byte as it was registered.
#[derive(Debug)]
struct SeeOther(String);

impl<'r> Responder<'r, 'static> for SeeOther {
    fn respond_to(self, _: &'r Request<'_>) -> response::Result<'static> {
        Response::build()
            .status(Status::SeeOther)
            .raw_header("Location", self.0)
            .ok()
    }
}
