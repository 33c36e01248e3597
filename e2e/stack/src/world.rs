//! The world of a stack: what the control address acts on, and how it begins
//! anew.

use std::sync::{Arc, PoisonError, RwLock};

use broker::audit::{self, AuditLog};
use broker::clock::Clock;
use broker::config::{Config, GitHubConfig, GoogleConfig, UpstreamConfig, UpstreamSecret};
use broker::store::fail_points::FailPoints;
use broker::store::{self, Store};
use broker::{Broker, Dependencies};
use contract::Origin;
use mock_upstream::MockUpstream;
use tokio::sync::Mutex;

use crate::hosted::Hosted;
use crate::logbook::of_audit;
use crate::projects::Registry;
use crate::start_error::StartError;
use crate::time::StackClock;
use crate::wire::{Watch, Wire};

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
    pub(crate) watch: Arc<Watch>,
    pub(crate) store: RwLock<Arc<dyn Store>>,
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
        let clock = self.clock.anew();
        let launch = Launch {
            urls: &self.urls,
            clock: clock.clone(),
            projects: &self.projects,
            watch: &self.watch,
            upstream_timeout_ms: self.upstream_timeout_ms,
        };
        let (fresh, store) = launch.start().await?;
        self.wire.retarget(fresh.address);
        self.upstream.reset();
        self.demo.reset();
        self.clock.restart(clock);
        *self.store.write().unwrap_or_else(PoisonError::into_inner) = store;
        self.watch.clear();
        // What the old broker is still answering may finish; nobody waits for it.
        if let Some(old) = broker.replace(fresh) {
            tokio::spawn(old.stop());
        }
        Ok(())
    }

    /// The present broker's store.
    pub(crate) fn store(&self) -> Arc<dyn Store> {
        let store = self.store.read().unwrap_or_else(PoisonError::into_inner);
        store.clone()
    }
}

/// What a broker behind the wire of a stack is started with.
pub(crate) struct Launch<'a> {
    pub(crate) urls: &'a Urls,
    pub(crate) clock: Clock,
    pub(crate) projects: &'a Registry,
    pub(crate) watch: &'a Arc<Watch>,
    pub(crate) upstream_timeout_ms: u64,
}

impl Launch<'_> {
    /// Starts a broker on an empty store, which it shares with us.
    pub(crate) async fn start(self) -> Result<(Hosted, Arc<dyn Store>), StartError> {
        let config = self.config();
        let store = store::open(&config.store.url, FailPoints::NONE).map_err(|source| {
            broker::StartError::Store {
                url: config.store.url.clone(),
                source,
            }
        })?;
        let watch = self.watch.clone();
        let tell = move |event: &audit::Event| watch.logbook.write(of_audit(event));
        let dependencies = Dependencies {
            clock: self.clock,
            projects: self.projects.at_broker(),
            audit: AuditLog::new().subscribed(Arc::new(tell)),
            store: Some(store.clone()),
            ..Dependencies::default()
        };
        let broker = Broker::assemble(config, dependencies)?;
        let hosted = Hosted::launch(broker.rocket()).await;
        Ok((hosted.map_err(StartError::BrokerServer)?, store))
    }

    fn config(&self) -> Config {
        Config {
            upstream: UpstreamConfig {
                google: Some(GoogleConfig {
                    client_id: UPSTREAM_CLIENT.to_owned(),
                    client_secret: UpstreamSecret::new(UPSTREAM_SECRET),
                    enabled: true,
                    issuer: origin(&self.urls.google),
                }),
                github: Some(GitHubConfig {
                    client_id: UPSTREAM_CLIENT.to_owned(),
                    client_secret: UpstreamSecret::new(UPSTREAM_SECRET),
                    enabled: true,
                    web_url: origin(&self.urls.github),
                    api_url: origin(&self.urls.github),
                }),
                timeout_ms: self.upstream_timeout_ms,
                ..UpstreamConfig::default()
            },
            // It listens behind the wire, wherever there is room.
            ..Config::in_process(origin(&self.urls.broker))
        }
    }
}

/// The origin at one of the stack's own addresses.
pub(crate) fn origin(url: &str) -> Origin {
    url.parse()
        .expect("the addresses of a stack are loopback origins")
}
