//! The world of a stack: what the control address acts on, and how it begins
//! anew.

use std::net::SocketAddr;
use std::sync::Arc;

use broker::config::{
    Config, GitHubConfig, GoogleConfig, LogConfig, StoreConfig, UpstreamConfig, UpstreamSecret,
};
use broker::store::StoreUrl;
use broker::{Broker, Surroundings};
use contract::Origin;
use mock_upstream::MockUpstream;
use tokio::sync::Mutex;

use crate::hosted::Hosted;
use crate::projects::Registry;
use crate::start_error::StartError;
use crate::time::StackClock;
use crate::wire::Wire;

/// Our name and secret at the imitated providers. They protect nothing.
pub(crate) const UPSTREAM_CLIENT: &str = "federated-sign-in-kit";
pub(crate) const UPSTREAM_SECRET: &str = "mock-upstream-secret";

/// What the control address acts on.
pub(crate) struct World {
    pub(crate) urls: Urls,
    pub(crate) clock: StackClock,
    pub(crate) projects: Registry,
    pub(crate) upstream: MockUpstream,
    pub(crate) demo: Arc<consumer_demo::App>,
    pub(crate) wire: Wire,
    pub(crate) broker: Mutex<Option<Hosted>>,
    /// How long the broker waits for a provider.
    pub(crate) upstream_timeout_ms: u64,
}

/// Where everything is. URLs, without a trailing slash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Urls {
    /// The demo.
    pub consumer: String,
    /// The broker, through the wire.
    pub broker: String,
    /// The control address.
    pub control: String,
    /// The imitation of Google.
    pub google: String,
    /// The imitation of GitHub.
    pub github: String,
}

impl World {
    /// See [`Stack::reset`](crate::Stack::reset).
    pub(crate) async fn reset(&self) -> Result<(), StartError> {
        let mut broker = self.broker.lock().await;
        let clock = StackClock::default();
        let fresh =
            start_broker(&self.urls, &clock, &self.projects, self.upstream_timeout_ms).await?;
        self.wire.retarget(fresh.address);
        self.upstream.reset();
        self.demo.reset();
        self.clock.restart(clock.world());
        // What the old broker is still answering may finish; nobody waits for it.
        if let Some(old) = broker.replace(fresh) {
            tokio::spawn(old.stop());
        }
        Ok(())
    }
}

/// A broker behind the wire of `urls`, on an empty store.
pub(crate) async fn start_broker(
    urls: &Urls,
    clock: &StackClock,
    projects: &Registry,
    upstream_timeout_ms: u64,
) -> Result<Hosted, StartError> {
    let config = Config {
        base_url: origin(&urls.broker),
        // Behind the wire, wherever there is room.
        bind: SocketAddr::from(([127, 0, 0, 1], 0)),
        cookie_keys: Vec::new(),
        store: StoreConfig {
            url: StoreUrl::SqliteMemory,
        },
        log: LogConfig::default(),
        upstream: UpstreamConfig {
            google: Some(GoogleConfig {
                client_id: UPSTREAM_CLIENT.to_owned(),
                client_secret: UpstreamSecret::new(UPSTREAM_SECRET),
                enabled: true,
                issuer: origin(&urls.google),
            }),
            github: Some(GitHubConfig {
                client_id: UPSTREAM_CLIENT.to_owned(),
                client_secret: UpstreamSecret::new(UPSTREAM_SECRET),
                enabled: true,
                web_url: origin(&urls.github),
                api_url: origin(&urls.github),
            }),
            timeout_ms: upstream_timeout_ms,
            ..UpstreamConfig::default()
        },
        projects: Vec::new(),
    };
    let surroundings = Surroundings {
        clock: clock.world(),
        projects: projects.at_broker(),
        ..Surroundings::default()
    };
    let broker = Broker::assemble(config, surroundings)?;
    Hosted::launch(broker.rocket())
        .await
        .map_err(StartError::BrokerServer)
}

/// The origin at one of the stack's own addresses.
pub(crate) fn origin(url: &str) -> Origin {
    url.parse()
        .expect("the addresses of a stack are loopback origins")
}
