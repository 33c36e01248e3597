//! The broker of a stack: its configuration and its start on an empty store.

use std::sync::Arc;

use broker::audit::{self, AuditLog};
use broker::clock::Clock;
use broker::config::{
    CaCertificates, Config, GitHubConfig, GoogleConfig, UpstreamConfig, UpstreamSecret,
};
use broker::cookie_cipher::CookieKey;
use broker::store::fail_points::FailPoints;
use broker::store::{self, Store};
use broker::{Broker, Dependencies};

use super::reach::{Reach, ServerUrls, own_origin};
use super::server::ServerHandle;
use crate::event_log::LoggedEvent;
use crate::projects::ProjectRegistry;
use crate::proxy::ProxyState;
use crate::start_error::StackStartError;

/// The broker's client id and secret at the imitated providers. They protect nothing.
pub(crate) const UPSTREAM_CLIENT_ID: &str = "federated-sign-in-kit";
pub(crate) const UPSTREAM_CLIENT_SECRET: &str = "mock-upstream-secret";

/// Everything that a broker behind the stack's proxy is started with.
pub(crate) struct BrokerLaunch<'a> {
    pub(crate) urls: &'a ServerUrls,
    pub(crate) reach: &'a Reach,
    pub(crate) clock: Clock,
    pub(crate) projects: &'a ProjectRegistry,
    pub(crate) proxy_state: &'a Arc<ProxyState>,
    pub(crate) upstream_timeout_ms: u64,
}

impl BrokerLaunch<'_> {
    /// Starts a broker on an empty store; returns both, so that the stack can read the
    /// store as well.
    pub(crate) async fn start(self) -> Result<(ServerHandle, Store), StackStartError> {
        let config = self.config();
        let store = store::open(&config.store.url, FailPoints::NONE).map_err(|source| {
            broker::StartError::Store {
                url: config.store.url.clone(),
                source,
            }
        })?;
        let proxy_state = self.proxy_state.clone();
        let record = move |event: &audit::Event| {
            proxy_state.event_log.append(LoggedEvent::from_audit(event));
        };
        let dependencies = Dependencies {
            clock: self.clock,
            projects: self.projects.at_broker(),
            audit: AuditLog::new()
                .subscribed(Arc::new(record))
                .with_pages_at(self.urls.control.clone()),
            store: Some(store.clone()),
            ..Dependencies::default()
        };
        let broker = Broker::assemble(config, dependencies)?;
        let server = ServerHandle::launch(broker.rocket(), self.reach.stopping).await;
        Ok((server.map_err(StackStartError::BrokerServer)?, store))
    }

    fn config(&self) -> Config {
        let Reach { tls, host, .. } = self.reach;
        let (tls, host) = (tls.as_ref(), host.as_ref());
        Config {
            upstream: UpstreamConfig {
                google: Some(GoogleConfig {
                    client_id: UPSTREAM_CLIENT_ID.to_owned(),
                    client_secret: UpstreamSecret::new(UPSTREAM_CLIENT_SECRET),
                    enabled: true,
                    issuer: own_origin(&self.urls.google),
                }),
                github: Some(GitHubConfig {
                    client_id: UPSTREAM_CLIENT_ID.to_owned(),
                    client_secret: UpstreamSecret::new(UPSTREAM_CLIENT_SECRET),
                    enabled: true,
                    web_url: own_origin(&self.urls.github),
                    api_url: own_origin(&self.urls.github),
                }),
                timeout_ms: self.upstream_timeout_ms,
                ca_file: tls.map(|tls| CaCertificates::Pem(tls.ca_pem().to_owned())),
                imitations_at: host.map(ToString::to_string),
                ..UpstreamConfig::default()
            },
            // A broker that others can reach needs a key in its configuration.
            cookie_keys: host.map(|_| new_cookie_key()).into_iter().collect(),
            // It listens behind the proxy, on any free port.
            ..Config::in_process(own_origin(&self.urls.broker))
        }
    }
}

fn new_cookie_key() -> CookieKey {
    CookieKey::from_random(&broker::random::bytes32())
}
