//! Brokers off loopback, and the nginx in front of them.

use std::net::SocketAddr;

use broker::config::Config;
use broker::cookie_cipher::CookieKey;
use broker::store::fail_points::FailPoints;
use broker::store::{self, StoreUrl};
use broker::{Broker, Dependencies};
use mock_upstream::{Clock, MockUpstream};
use serde_json::json;

use super::nginx::{Change, NAME, Nginx, NginxLogs, Ports};
use crate::broker_parts::{self as parts, UPSTREAM_SECRET};
use testkit::backend::Backend;
use testkit::browser::{Browser, UNSERVED};
use testkit::fresh;
use testkit::login::{Flow, Outcome};
use testkit::logs;
use testkit::server::TestServer;

/// All of them, and a project's backend outside.
pub(crate) struct ProxiedBrokers {
    /// Its calls go through nginx.
    pub(crate) backend: Backend,
    pub(crate) nginx: Nginx,
    brokers: Vec<TestServer>,
    _upstream: MockUpstream,
}

impl ProxiedBrokers {
    pub(crate) async fn start() -> Self {
        Self::start_with(|_| (), &[]).await
    }

    /// Two brokers that share their store.
    pub(crate) async fn of_two() -> Self {
        Self::of(2, |_| (), &[]).await
    }

    /// One broker, with settings of its own and changes to nginx's.
    pub(crate) async fn start_with(
        settings: impl FnOnce(&mut Config),
        changes: &[Change<'_>],
    ) -> Self {
        Self::of(1, settings, changes).await
    }

    async fn of(count: usize, settings: impl FnOnce(&mut Config), changes: &[Change<'_>]) -> Self {
        logs::listen();
        stack::silence_rocket();
        let ports = Ports::draw();
        let base_url = format!("https://{NAME}:{}", ports.https().port());
        let upstream = parts::upstream(&base_url, Clock::system()).await;
        let mut config = parts::config(
            &base_url,
            upstream.google().url(),
            upstream.github().url(),
            UPSTREAM_SECRET,
        );
        let credentials = json!({
            "client_id": "behind-nginx",
            "client_secret": fresh::secret(),
            "redirect_uris": [format!("{UNSERVED}/behind/nginx")],
        });
        let mut backend = Backend::of(&base_url, &credentials);
        config.cookie_keys = vec![CookieKey::from_random(&[42; 32])];
        config.ip_header = Some("X-Real-IP".to_owned().try_into().expect("a name"));
        config.projects = vec![parts::project(&backend, &[&backend.callback])];
        settings(&mut config);
        let brokers = launch(count, &config).await;
        let nginx = Nginx::start(ports, &addresses(&brokers), changes);
        backend.http = nginx.http();
        Self {
            backend,
            nginx,
            brokers,
            _upstream: upstream,
        }
    }

    /// The addresses of the brokers.
    pub(crate) fn brokers(&self) -> Vec<SocketAddr> {
        addresses(&self.brokers)
    }

    /// A browser that finds the broker behind its nginx.
    pub(crate) fn browser(&self) -> Browser {
        Browser::with_http(self.backend.http.clone())
    }

    /// Ends nginx, and returns what it wrote.
    pub(crate) fn stop(self) -> NginxLogs {
        self.nginx.stop()
    }

    /// A whole login by `flow`.
    pub(crate) async fn sign_in(&self, flow: Flow, provider: &str) -> Outcome {
        let started = flow.start(&self.backend, provider).await;
        let end = self.browser().follow(started.url()).await;
        started.outcome(&self.backend, &end.url).await
    }
}

/// `count` brokers that share a store, as with a shared database.
async fn launch(count: usize, config: &Config) -> Vec<TestServer> {
    let store = store::open(&StoreUrl::SqliteMemory, FailPoints::default()).expect("a store");
    let mut brokers = Vec::new();
    for _ in 0..count {
        let dependencies = Dependencies {
            store: Some(store.clone()),
            ..Dependencies::default()
        };
        let broker = Broker::assemble(config.clone(), dependencies).expect("a broker");
        brokers.push(TestServer::launch(broker.rocket()).await);
    }
    brokers
}

fn addresses(brokers: &[TestServer]) -> Vec<SocketAddr> {
    brokers.iter().map(|it| it.address).collect()
}
