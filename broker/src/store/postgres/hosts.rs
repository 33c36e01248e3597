//! Connecting to an address of several hosts. The driver gives a host a time limit for TCP
//! alone, so that a server which accepts and then says nothing would hide the hosts behind
//! it. Here the next host is tried as soon as one has failed or was silent for a while, and
//! the first that serves is used.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use deadpool_postgres::Connect;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::timeout;
use tokio_postgres::config::{Host, TargetSessionAttrs};
use tokio_postgres::{Client, Config, Error};

/// The hosts of an address. The one that served last is tried first.
pub(super) struct Hosts {
    hosts: Vec<Config>,
    driver: Arc<dyn Connect>,
    /// The next host is tried after this time, whatever this one will say.
    patience: Duration,
    first: AtomicUsize,
}

type Connected = (Client, JoinHandle<()>);

impl Hosts {
    pub(super) fn of(config: &Config, patience: Duration, driver: Arc<dyn Connect>) -> Self {
        Self {
            hosts: split(config),
            driver,
            patience,
            first: AtomicUsize::new(0),
        }
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "the patience with a server is independent of our clock"
    )]
    async fn connect_to_one(&self) -> Result<Connected, Error> {
        let first = self.first.load(Ordering::Relaxed);
        let mut untried = (first..self.hosts.len()).chain(0..first);
        let (mut attempts, mut failure) = (JoinSet::new(), None);
        loop {
            if let Some(host) = untried.next() {
                let (driver, config) = (self.driver.clone(), self.hosts[host].clone());
                attempts.spawn(async move { (host, driver.connect(&config).await) });
            }
            match timeout(self.patience, attempts.join_next()).await {
                // It is silent, and may still answer.
                Err(_) => {}
                Ok(None) => return Err(failure.expect("there is a host, and all have failed")),
                Ok(Some(attempt)) => match attempt.expect("the driver does not panic") {
                    (_, Err(error)) => failure = Some(error),
                    (host, Ok(connected)) => {
                        self.keep(host);
                        return Ok(connected);
                    }
                },
            }
        }
    }

    /// Keeps which host served, if not each would: one that was silent before is then asked
    /// only when this one fails.
    fn keep(&self, host: usize) {
        if self.hosts[host].get_target_session_attrs() != TargetSessionAttrs::Any {
            self.first.store(host, Ordering::Relaxed);
        }
    }
}

impl Connect for Hosts {
    fn connect(
        &self,
        _: &Config,
    ) -> Pin<Box<dyn Future<Output = Result<Connected, Error>> + Send + '_>> {
        Box::pin(self.connect_to_one())
    }
}

/// The same configuration for each of its hosts alone; as it is, if it has but one, or the
/// driver refuses it.
fn split(config: &Config) -> Vec<Config> {
    let (names, addresses) = (config.get_hosts().len(), config.get_hostaddrs().len());
    let (hosts, ports) = (names.max(addresses), config.get_ports().len());
    let are_pairs = names == addresses || names == 0 || addresses == 0;
    if hosts < 2 || !are_pairs || (ports > 1 && ports != hosts) {
        return vec![config.clone()];
    }
    (0..hosts).map(|host| alone(config, host)).collect()
}

/// The configuration with one of its hosts. The driver's has no way to take a host away.
fn alone(config: &Config, host: usize) -> Config {
    let mut alone = Config::new();
    config.get_hosts().get(host).map(|it| match it {
        Host::Tcp(name) => alone.host(name),
        Host::Unix(folder) => alone.host_path(folder),
    });
    config
        .get_hostaddrs()
        .get(host)
        .map(|it| alone.hostaddr(*it));
    let ports = config.get_ports();
    ports.get(host).or(ports.first()).map(|it| alone.port(*it));
    config.get_user().map(|it| alone.user(it));
    config.get_password().map(|it| alone.password(it));
    config.get_dbname().map(|it| alone.dbname(it));
    config.get_options().map(|it| alone.options(it));
    config
        .get_application_name()
        .map(|it| alone.application_name(it));
    config
        .get_connect_timeout()
        .map(|it| alone.connect_timeout(*it));
    config
        .get_tcp_user_timeout()
        .map(|it| alone.tcp_user_timeout(*it));
    config
        .get_keepalives_interval()
        .map(|it| alone.keepalives_interval(it));
    config
        .get_keepalives_retries()
        .map(|it| alone.keepalives_retries(it));
    alone
        .ssl_mode(config.get_ssl_mode())
        .ssl_negotiation(config.get_ssl_negotiation())
        .keepalives(config.get_keepalives())
        .keepalives_idle(config.get_keepalives_idle())
        .target_session_attrs(config.get_target_session_attrs())
        .channel_binding(config.get_channel_binding())
        .load_balance_hosts(config.get_load_balance_hosts());
    alone
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alone_of(url: &str) -> Vec<Config> {
        split(&url.parse().expect(url))
    }

    #[test]
    fn each_host_of_an_address_keeps_its_port_and_everything_else() {
        const REST: &str = "sslmode=require&sslnegotiation=direct&options=-ca&application_name=b\
            &connect_timeout=1&tcp_user_timeout=2&keepalives=0&keepalives_idle=3\
            &keepalives_interval=4&keepalives_retries=5&target_session_attrs=read-write\
            &channel_binding=require&load_balance_hosts=random";
        for (hosts, each) in [
            ("a", &["a"][..]),
            ("a,b", &["a", "b"]),
            ("a:1,b:2", &["a:1", "b:2"]),
            ("%2Ffolder:1,b:2", &["%2Ffolder:1", "b:2"]),
        ] {
            let url = |hosts: &str| format!("postgres://user:password@{hosts}/name?{REST}");
            let expected = each.iter().map(|host| url(host).parse().unwrap());
            assert_eq!(
                alone_of(&url(hosts)),
                expected.collect::<Vec<_>>(),
                "{hosts}"
            );
        }
        let pairs = alone_of("postgres://a,b/name?hostaddr=1.1.1.1,2.2.2.2");
        let second = "postgres://b/name?hostaddr=2.2.2.2".parse().unwrap();
        assert_eq!(pairs[1..], [second]);
    }

    #[test]
    fn an_address_that_the_driver_refuses_is_left_to_it() {
        for url in [
            "postgres://a,b/name?hostaddr=1.1.1.1",
            "postgres://a:1,b:2/name?port=3",
        ] {
            assert_eq!(alone_of(url), [url.parse().unwrap()]);
        }
    }
}
