//! Connections to the server that accepts writes: each has our settings, and ends soon
//! after its server has vanished.

use std::time::Duration;

use deadpool_postgres::{
    ClientWrapper, Hook, HookError, Manager, ManagerConfig, Pool, PoolError, RecyclingMethod,
    Runtime,
};
use tokio_postgres::{Config, NoTls};

use crate::store::error::StoreError;
use crate::store::postgres::settings::Settings;
use crate::store::postgres::tls;
use crate::store::postgres::url::{Encryption, PoolMode, PostgresUrl};

/// The most steps that one broker runs at once; further ones wait.
const MAX_CONNECTIONS: usize = 16;

/// The time limit of waiting for a connection, and of making one.
const WAIT: Duration = Duration::from_secs(3);

/// The time limit of checking that a connection still works.
const CHECK: Duration = Duration::from_secs(1);

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
        recycling_method: RecyclingMethod::Verified,
    };
    let manager = match url.encryption() {
        Encryption::Off => Manager::from_config(config, NoTls, recycle),
        Encryption::Verified(roots) => {
            Manager::from_config(config, tls::connector(roots)?, recycle)
        }
    };
    Pool::builder(manager)
        .max_size(MAX_CONNECTIONS)
        .wait_timeout(Some(WAIT))
        .create_timeout(Some(WAIT))
        .recycle_timeout(Some(CHECK))
        .runtime(Runtime::Tokio1)
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

fn config(url: &PostgresUrl, settings: Settings) -> Config {
    let mut config = url.expose().clone();
    if url.pool_mode() == PoolMode::Session {
        let given = config.get_options().unwrap_or_default();
        let options = given.to_owned() + &settings.options();
        config.options(options.trim_start());
    }
    config.application_name("broker");
    // A host that does not answer leaves time for the ones behind it.
    let hosts = config.get_hosts().len().max(config.get_hostaddrs().len());
    let each = WAIT / u32::try_from(hosts + 1).unwrap_or(u32::MAX);
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

/// The error of a connection that could not be had.
pub(super) fn unreachable(error: PoolError) -> StoreError {
    match error {
        PoolError::Backend(error) | PoolError::PostCreateHook(HookError::Backend(error)) => {
            error.into()
        }
        PoolError::PostCreateHook(HookError::Message(message)) => {
            StoreError::Failed(message.into_owned())
        }
        other => StoreError::Failed(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::postgres::settings::SETTINGS;

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
