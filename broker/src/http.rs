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
use std::sync::Arc;
use std::time::Duration;

use rocket::config::{Ident, LogLevel, Shutdown, TlsConfig};
use rocket::fairing::AdHoc;
use rocket::http::Status;
use rocket::http::uri::Origin;
use rocket::response::{self, Responder};
use rocket::shield::Shield;
use rocket::{Build, Config, Request, Response, Rocket, catchers, routes};

pub use in_flight::InFlight;
pub use operator::operator;

use crate::Broker;
use crate::clock::Clock;
use crate::query::Query;
use crate::store::{Store, StoreError};

/// Lays the broker's routes on a Rocket that reads no configuration of its own.
pub(crate) fn rocket(broker: Broker) -> Rocket<Build> {
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

/// Forgets what no rule can see any more, from liftoff to shutdown.
fn sweeper() -> AdHoc {
    AdHoc::on_liftoff("sweeper", |rocket| {
        Box::pin(async move {
            let broker = rocket.state::<Broker>().expect("it is managed above");
            let (store, clock) = (broker.store.clone(), broker.clock.clone());
            let every = broker.sweep_every;
            tokio::spawn(sweep(store, clock, every, rocket.shutdown()));
        })
    })
}

#[expect(
    clippy::disallowed_methods,
    reason = "when rows are swept decides nothing: a rule sees none of them"
)]
async fn sweep(
    store: Arc<dyn Store>,
    clock: Clock,
    every: Duration,
    mut shutdown: rocket::Shutdown,
) {
    let mut every = tokio::time::interval(every);
    loop {
        tokio::select! {
            _ = &mut shutdown => return,
            _ = every.tick() => {}
        }
        outlive(sweep_all(store.clone(), clock.clone())).await;
    }
}

/// Lets `sweeping` have a task of its own: if it panics, the next one comes all the
/// same.
async fn outlive(sweeping: impl Future<Output = Result<(), StoreError>> + Send + 'static) {
    match tokio::spawn(sweeping).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::warn!(%error, "expired rows were not swept"),
        // Where it panicked is logged already; what it says may quote a row.
        Err(_) => tracing::error!("expired rows were not swept: the sweep panicked"),
    }
}

/// Sweeps in small batches, between which other steps have their turn.
async fn sweep_all(store: Arc<dyn Store>, clock: Clock) -> Result<(), StoreError> {
    while store.sweep(clock.now()).await? > 0 {}
    Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Without a task of its own the panic would end whoever sweeps.
    #[tokio::test]
    async fn a_sweep_that_panics_ends_itself_alone() {
        outlive(async { panic!("a row that nobody expected") }).await;
        outlive(async { Ok(()) }).await;
    }
}
