//! Connections to the server that accepts writes: each is encrypted as the address says, has
//! the settings on which the steps rely, whatever the defaults of the server, the database
//! and the role are, and ends soon after its server has vanished.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use deadpool_postgres::{
    ClientWrapper, ConfigConnectImpl, Connect, Hook, HookError, Manager, ManagerConfig, Pool,
    PoolError, RecyclingMethod, Runtime, TimeoutType,
};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};
use tokio::time::timeout;
use tokio_postgres::{Client, Config, NoTls, SimpleQueryMessage};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::hosts::Hosts;
use super::url::{Encryption, PoolMode, PostgresUrl};
use crate::store::outcome::StoreError;

/// The most steps that one broker runs at once; further ones wait.
const MAX_CONNECTIONS: usize = 16;

/// The time limit of waiting for a connection, and of making one.
const WAIT: Duration = Duration::from_secs(3);

/// The time limit of checking that a connection still works.
const CHECK: Duration = Duration::from_secs(1);

/// A connection that was lent within this time is not checked: that costs a step a second
/// round trip.
const TRUSTED: Duration = Duration::from_secs(1);

/// A connection on which the server has acknowledged nothing for this long is over;
/// an idle one asks after [`KEEPALIVE`].
const UNACKNOWLEDGED: Duration = Duration::from_secs(4);
const KEEPALIVE: Duration = Duration::from_secs(5);
const PROBE: Duration = Duration::from_secs(1);

/// A pool of connections to `url` with these settings.
pub(super) fn to(url: &PostgresUrl, settings: Settings) -> Result<Pool, StoreError> {
    let mode = url.pool_mode();
    let config = config(url, settings);
    let recycle = ManagerConfig {
        recycling_method: RecyclingMethod::Fast,
    };
    let connect = Hosts::of(&config, patience(&config), driver(url.encryption())?);
    Pool::builder(Manager::from_connect(config, connect, recycle))
        .max_size(MAX_CONNECTIONS)
        .wait_timeout(Some(WAIT))
        .create_timeout(Some(WAIT))
        .runtime(Runtime::Tokio1)
        .pre_recycle(Hook::async_fn(|client: &mut ClientWrapper, metrics| {
            let is_trusted = metrics.last_used() < TRUSTED;
            Box::pin(async move {
                match is_trusted {
                    true => Ok(()),
                    false => check(client).await,
                }
            })
        }))
        .post_create(Hook::async_fn(move |client: &mut ClientWrapper, _| {
            Box::pin(async move {
                match mode {
                    PoolMode::Session => settings.check(client).await,
                    // Each transaction begins with them.
                    PoolMode::Transaction => Ok(()),
                }
            })
        }))
        .build()
        .map_err(|error| StoreError::Failed(error.to_string()))
}

/// Checks that a connection still works.
#[expect(
    clippy::disallowed_methods,
    reason = "the time limit of a database is independent of our clock"
)]
async fn check(client: &Client) -> Result<(), HookError> {
    match timeout(CHECK, client.simple_query("")).await {
        Ok(answer) => answer.map(drop).map_err(HookError::Backend),
        Err(_) => Err(HookError::message("a connection did not answer in time")),
    }
}

fn config(url: &PostgresUrl, settings: Settings) -> Config {
    let mut config = url.expose().clone();
    if url.pool_mode() == PoolMode::Session {
        let given = config.get_options().unwrap_or_default();
        let options = given.to_owned() + &settings.options();
        config.options(options.trim_start());
    }
    config.application_name("broker");
    let each = patience(&config);
    let given = config.get_connect_timeout().copied();
    config.connect_timeout(given.map_or(each, |given| given.min(each)));
    if config.get_tcp_user_timeout().is_none() {
        config.tcp_user_timeout(UNACKNOWLEDGED);
    }
    if config.get_keepalives_idle() > KEEPALIVE {
        config.keepalives_idle(KEEPALIVE);
        config.keepalives_interval(PROBE);
    }
    config
}

/// The time after which a host that does not answer leaves the next one to be tried.
fn patience(config: &Config) -> Duration {
    let hosts = config.get_hosts().len().max(config.get_hostaddrs().len());
    WAIT / u32::try_from(hosts + 1).unwrap_or(u32::MAX)
}

fn driver(encryption: &Encryption) -> Result<Arc<dyn Connect>, StoreError> {
    let roots = match encryption {
        Encryption::Off => return Ok(Arc::new(ConfigConnectImpl { tls: NoTls })),
        Encryption::BySystem => of_the_system()?,
        Encryption::ByFile(path) => in_file(path)?,
    };
    let tls = connector(roots)?;
    Ok(Arc::new(ConfigConnectImpl { tls }))
}

/// The error of a connection that could not be had.
pub(super) fn unreachable(error: PoolError) -> StoreError {
    match error {
        PoolError::Backend(error) | PoolError::PostCreateHook(HookError::Backend(error)) => {
            error.into()
        }
        PoolError::PostCreateHook(HookError::Message(message)) => {
            StoreError::Failed(message.into_owned())
        }
        PoolError::Timeout(TimeoutType::Create) => StoreError::Failed(
            "a server of store.url did not answer in time, and no other could be used".to_owned(),
        ),
        other => StoreError::Failed(other.to_string()),
    }
}

/// The settings of every connection. An acknowledged commit is on disk, and on the
/// synchronous standby if there is one; a statement ends soon after its caller's time
/// limit; the locks of a broker that freezes within a transaction are released. Times
/// are in milliseconds.
pub(super) const SETTINGS: Settings = Settings(&[
    ("synchronous_commit", "on"),
    (ISOLATION, "read committed"),
    ("statement_timeout", "6000"),
    ("lock_timeout", "4000"),
    ("idle_in_transaction_session_timeout", "6000"),
]);

const ISOLATION: &str = "default_transaction_isolation";

/// Settings by their names.
#[derive(Debug, Clone, Copy)]
pub(super) struct Settings(pub(super) &'static [(&'static str, &'static str)]);

impl Settings {
    /// The command-line options of a connection that has them.
    fn options(self) -> String {
        let option = |(name, value): &(&str, &str)| {
            let value = value.replace(' ', "\\ ");
            format!(" -c {name}={value}")
        };
        self.0.iter().map(option).collect()
    }

    /// The statements that begin a transaction which has them, and leave the connection
    /// as it was.
    pub(super) fn begin(self) -> String {
        let set = |(name, value): &(&str, &str)| match *name {
            ISOLATION => format!("; SET TRANSACTION ISOLATION LEVEL {value}"),
            _ => format!("; SET LOCAL {name} = '{value}'"),
        };
        "BEGIN".to_owned() + &self.0.iter().map(set).collect::<String>()
    }

    /// Checks that a new connection has them.
    async fn check(self, client: &Client) -> Result<(), HookError> {
        let names: Vec<_> = self.0.iter().map(|(name, _)| *name).collect();
        let names = names.join(",");
        let select =
            format!("SELECT name, setting FROM pg_settings WHERE name = ANY('{{{names}}}')");
        let rows = client.simple_query(&select).await;
        let rows = rows.map_err(HookError::Backend)?;
        let is_set = |(name, value): &&(&str, &str)| {
            rows.iter().any(|message| match message {
                SimpleQueryMessage::Row(row) => {
                    row.get("name") == Some(name) && row.get("setting") == Some(value)
                }
                _ => false,
            })
        };
        match self.0.iter().find(|setting| !is_set(setting)) {
            None => Ok(()),
            Some((name, value)) => Err(HookError::message(format!(
                "a new connection does not have {name}={value}, which the broker asked for: a \
                 pooler ignores its options; add pool_mode=transaction to store.url"
            ))),
        }
    }
}

/// A connector that trusts these authorities.
fn connector(roots: RootCertStore) -> Result<MakeRustlsConnect, StoreError> {
    // Named, because the process has no default one.
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| StoreError::Failed(error.to_string()))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}

fn of_the_system() -> Result<RootCertStore, StoreError> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    match roots.is_empty() {
        false => Ok(roots),
        true => Err(StoreError::Failed(
            "this system has no certificate authorities: name a file of them by sslrootcert in \
             store.url"
                .to_owned(),
        )),
    }
}

fn in_file(path: &Path) -> Result<RootCertStore, StoreError> {
    let failed = |problem: String| {
        let path = path.display();
        StoreError::Failed(format!("{path}, sslrootcert in store.url, {problem}"))
    };
    let text = std::fs::read(path).map_err(|error| failed(format!("cannot be read: {error}")))?;
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(&text) {
        let certificate =
            certificate.map_err(|_| failed("is not a certificate in PEM".to_owned()))?;
        roots
            .add(certificate)
            .map_err(|_| failed("contains a certificate that no server can use".to_owned()))?;
    }
    match roots.is_empty() {
        false => Ok(roots),
        true => Err(failed("contains no certificate in PEM".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config_of(url: &str) -> Config {
        config(&PostgresUrl::parse(url).unwrap(), SETTINGS)
    }

    #[test]
    fn a_host_that_does_not_answer_leaves_time_for_the_next() {
        let limit = |url: &str| *config_of(url).get_connect_timeout().unwrap();
        assert_eq!(limit("postgres://a,b/c"), Duration::from_secs(1));
        assert!(limit("postgres://a/c") < WAIT);
        let given = "postgres://a,b/c?connect_timeout=";
        assert_eq!(limit(&format!("{given}60")), Duration::from_secs(1));
    }

    #[test]
    fn a_connection_to_a_server_that_vanished_ends_within_seconds() {
        let config = config_of("postgres://a/b");
        assert_eq!(config.get_tcp_user_timeout(), Some(&UNACKNOWLEDGED));
        assert_eq!(config.get_keepalives_idle(), KEEPALIVE);
        assert_eq!(config.get_keepalives_interval(), Some(PROBE));
        let given = config_of("postgres://a/b?tcp_user_timeout=9&keepalives_idle=2");
        assert_eq!(given.get_tcp_user_timeout(), Some(&Duration::from_secs(9)));
        assert_eq!(given.get_keepalives_idle(), Duration::from_secs(2));
    }
}
