//! The broker of a stack: its configuration, and each start, on an empty store or on that of the
//! broker before.

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

/// The state that a restarted broker takes over. The stack reads the store as well.
#[derive(Clone)]
pub(crate) struct BrokerState {
    pub(crate) store: Store,
    cookie_key: CookieKey,
}

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

    /// An empty store, and a fresh key for cookies.
    pub(crate) fn fresh_state(&self) -> Result<BrokerState, StackStartError> {
        let url = &self.config.store.url;
        let store = store::open(url, FailPoints::NONE).map_err(|source| {
            let url = url.clone();
            broker::StartError::Store { url, source }
        })?;
        let cookie_key = CookieKey::from_random(&broker::random::bytes32());
        Ok(BrokerState { store, cookie_key })
    }

    /// Starts a broker on this state.
    pub(crate) async fn start(
        &self,
        state: &BrokerState,
        clock: Clock,
    ) -> Result<ServerHandle, StackStartError> {
        let config = Config {
            cookie_keys: vec![state.cookie_key.clone()],
            ..self.config.clone()
        };
        let dependencies = Dependencies {
            clock,
            projects: self.projects.clone(),
            audit: self.audit.clone(),
            store: Some(state.store.clone()),
            ..Dependencies::default()
        };
        let broker = Broker::assemble(config, dependencies)?;
        let server = ServerHandle::launch(broker.rocket(), self.reach.stopping).await;
        server.map_err(StackStartError::BrokerServer)
    }
}
