//! Rocket's settings, none of which Rocket reads by itself.

use std::collections::HashSet;
use std::net::SocketAddr;

use rocket::Config;
use rocket::config::{Ident, LogLevel, Shutdown, TlsConfig};

use super::dropped_headers::watch;
use crate::Broker;

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
