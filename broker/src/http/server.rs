//! The common parts of this program's servers: Rocket's settings, none of which Rocket reads by
//! itself; the operator's server; and the number of requests in flight, so that a broker can
//! stop as soon as there is none. Rocket itself would always wait for its whole grace time.

use std::collections::HashSet;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rocket::config::{Ident, LogLevel, Shutdown, TlsConfig};
use rocket::fairing::AdHoc;
use rocket::http::ContentType;
use rocket::{Build, Config, Rocket, State, get, routes};
use tokio::sync::Notify;

use super::dropped_headers::watch;
use crate::Broker;
use crate::metrics::Metrics;

/// The settings of a broker, with its TLS certificate and its time to stop.
pub(super) fn own_config(broker: &Broker) -> Config {
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

/// Rocket's settings for a server at `bind` that reads no configuration of its own,
/// handles no signals, trusts no header and logs no secret.
pub fn config(bind: SocketAddr) -> Config {
    // Rocket installs a logger of its own when it is built.
    watch();
    Config {
        address: bind.ip(),
        port: bind.port(),
        // Rocket would log request lines, whose paths and queries are secrets.
        log_level: LogLevel::Off,
        cli_colors: false,
        ident: Ident::none(),
        // Rocket would take the client's address from a header that any client can send.
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

/// The web server of `GET /metrics` at `bind`, not yet listening.
pub fn operator(metrics: Metrics, bind: SocketAddr) -> Rocket<Build> {
    rocket::custom(config(bind))
        .manage(metrics)
        .mount("/", routes![read])
}

#[get("/metrics")]
fn read(metrics: &State<Metrics>) -> (ContentType, String) {
    let open_metrics = ContentType::new("application", "openmetrics-text")
        .with_params([("version", "1.0.0"), ("charset", "utf-8")]);
    (open_metrics, metrics.text())
}

/// The requests in flight. Clones share one count.
#[derive(Clone, Default)]
pub struct InFlight(Arc<Count>);

#[derive(Default)]
struct Count {
    requests: AtomicUsize,
    none: Notify,
}

impl InFlight {
    /// Waits until there is none.
    pub async fn none(&self) {
        let Count { requests, none } = &*self.0;
        loop {
            // Made before the count is read, so that no notice is missed in between.
            let notice = none.notified();
            if requests.load(Ordering::SeqCst) == 0 {
                return;
            }
            notice.await;
        }
    }

    /// The fairing that counts.
    pub(super) fn fairing(&self) -> AdHoc {
        let all = self.clone();
        AdHoc::on_request("requests in flight", move |request, _| {
            request.local_cache(|| all.enter());
            Box::pin(async {})
        })
    }

    fn enter(&self) -> Entered {
        self.0.requests.fetch_add(1, Ordering::SeqCst);
        Entered(self.0.clone())
    }
}

/// Lives as long as its request, which outlives the body of its answer.
struct Entered(Arc<Count>);

impl Drop for Entered {
    fn drop(&mut self) {
        if self.0.requests.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.0.none.notify_waiters();
        }
    }
}
