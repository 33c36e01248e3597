//! The broker of a stack: its configuration, and each start on an empty store.

use std::sync::Arc;

use broker::audit::{self, AuditLog};
use broker::clock::Clock;
use broker::config::{
    CaCertificates, Config, GitHubConfig, GoogleConfig, UpstreamConfig, UpstreamSecret,
};
use broker::cookie_cipher::CookieKey;
use broker::projects::Projects;
use broker::store::fail_points::FailPoints;
use broker::store::{self, Store};
use broker::{Broker, Dependencies};

use super::reach::{Reach, ServerUrls, own_origin};
use super::server::ServerHandle;
use crate::event_log::LoggedEvent;
use crate::projects::ProjectRegistry;
use crate::proxy::ProxyState;
use crate::settings::StackStartError;

/// The broker's client id and secret at the imitated providers. They protect nothing.
pub(crate) const UPSTREAM_CLIENT_ID: &str = "federated-sign-in-kit";
pub(crate) const UPSTREAM_CLIENT_SECRET: &str = "mock-upstream-secret";

/// A broker behind the stack's proxy, as each start and each reset needs a fresh one.
pub(crate) struct BrokerSetup {
    config: Config,
    projects: Projects,
    audit: AuditLog,
    reach: Reach,
}

impl BrokerSetup {
    /// The broker of a stack with these URLs, whose calls to a provider have a time limit.
    pub(crate) fn new(
        urls: &ServerUrls,
        reach: Reach,
        projects: &ProjectRegistry,
        proxy_state: Arc<ProxyState>,
        upstream_timeout_ms: u64,
    ) -> Self {
        let record = move |event: &audit::Event| {
            let event = LoggedEvent::from_audit(event);
            proxy_state.event_log.append(event);
        };
        let ca = reach.tls.as_ref().map(|tls| tls.ca_pem().to_owned());
        let upstream = UpstreamConfig {
            google: Some(GoogleConfig {
                client_id: UPSTREAM_CLIENT_ID.to_owned(),
                client_secret: UpstreamSecret::new(UPSTREAM_CLIENT_SECRET),
                enabled: true,
                issuer: own_origin(&urls.upstreams.google),
            }),
            github: Some(GitHubConfig {
                client_id: UPSTREAM_CLIENT_ID.to_owned(),
                client_secret: UpstreamSecret::new(UPSTREAM_CLIENT_SECRET),
                enabled: true,
                web_url: own_origin(&urls.upstreams.github),
                api_url: own_origin(&urls.upstreams.github),
            }),
            timeout_ms: upstream_timeout_ms,
            ca_file: ca.map(CaCertificates::Pem),
            imitations_at: reach.host.as_ref().map(ToString::to_string),
            ..UpstreamConfig::default()
        };
        Self {
            config: Config {
                upstream,
                // It listens behind the proxy, on any free port.
                ..Config::in_process(own_origin(&urls.broker))
            },
            projects: projects.at_broker(),
            audit: AuditLog::new()
                .subscribed(Arc::new(record))
                .with_pages_at(urls.control.clone()),
            reach,
        }
    }

    /// Starts a broker on an empty store; returns both, so that the stack can read the
    /// store as well.
    pub(crate) async fn start(
        &self,
        clock: Clock,
    ) -> Result<(ServerHandle, Store), StackStartError> {
        let mut config = self.config.clone();
        if self.reach.host.is_some() {
            // A broker that others can reach needs a key in its configuration.
            let key = CookieKey::from_random(&broker::random::bytes32());
            config.cookie_keys = vec![key];
        }
        let store = store::open(&config.store.url, FailPoints::NONE).map_err(|source| {
            broker::StartError::Store {
                url: config.store.url.clone(),
                source,
            }
        })?;
        let dependencies = Dependencies {
            clock,
            projects: self.projects.clone(),
            audit: self.audit.clone(),
            store: Some(store.clone()),
            ..Dependencies::default()
        };
        let broker = Broker::assemble(config, dependencies)?;
        let server = ServerHandle::launch(broker.rocket(), self.reach.stopping).await;
        Ok((server.map_err(StackStartError::BrokerServer)?, store))
    }
}
