//! The running parts of a stack, and the reset that begins again with a fresh broker.

mod broker_launch;
mod port;
mod reach;
mod server;
mod urls;

use std::net::TcpListener;
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};

use broker::store::Store;
use mock_upstream::MockUpstream;
use tokio::sync::Mutex;

use crate::event_log::EventLog;
use crate::faults::Faults;
use crate::lessons::Attacker;
use crate::projects::ProjectRegistry;
use crate::proxy::{Proxy, ProxyState};
use crate::sandbox_directory::{OwnSandbox, SandboxDirectory};
use crate::start_error::StackStartError;
use crate::time::StackClock;
use crate::tls::{StackTls, TlsFront};

use broker_launch::BrokerLaunch;
pub(crate) use broker_launch::{UPSTREAM_CLIENT_ID, UPSTREAM_CLIENT_SECRET};
pub(crate) use port::BoundPort;
pub(crate) use reach::{BEHIND_FRONT, Reach};
pub use server::silence_rocket;
pub(crate) use server::{ServerHandle, Stopping};
pub use urls::StackUrls;
pub(crate) use urls::{ServerUrls, own_origin};

/// The running parts of a stack, which the control address and the inspector act on.
pub(crate) struct StackRuntime {
    pub(crate) urls: ServerUrls,
    pub(crate) reach: Reach,
    pub(crate) clock: StackClock,
    pub(crate) projects: ProjectRegistry,
    pub(crate) upstream: MockUpstream,
    demo: Option<Arc<consumer_demo::App>>,
    proxy: Proxy,
    proxy_state: Arc<ProxyState>,
    store: RwLock<Store>,
    /// The attacker of the relay lesson.
    pub(crate) attacker: Attacker,
    /// `None` once the stack has stopped.
    pub(crate) broker: Mutex<Option<ServerHandle>>,
    upstream_timeout_ms: u64,
    pub(crate) sandboxes: Arc<SandboxDirectory>,
    pub(crate) own_sandbox: Option<OwnSandbox>,
    /// Those of the proxy and of the imitated providers.
    _fronts: Vec<TlsFront>,
}

/// The parts that run, or are ready, before the broker.
pub(crate) struct RuntimeParts {
    pub(crate) urls: ServerUrls,
    pub(crate) reach: Reach,
    pub(crate) clock: StackClock,
    pub(crate) projects: ProjectRegistry,
    pub(crate) upstream: MockUpstream,
    pub(crate) demo: Option<Arc<consumer_demo::App>>,
    pub(crate) proxy_state: Arc<ProxyState>,
    /// The time limit for one call of the broker to a provider.
    pub(crate) upstream_timeout_ms: u64,
    /// The sandboxes of the process.
    pub(crate) sandboxes: Arc<SandboxDirectory>,
    /// `None` unless this is a sandbox itself.
    pub(crate) own_sandbox: Option<OwnSandbox>,
    /// The fronts of the proxy and of the imitated providers, if there is TLS.
    pub(crate) fronts: Vec<TlsFront>,
}

/// The request of an exchange is not kept, or not whole.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("call: the request of this exchange is no longer kept, or was not kept whole")]
pub(crate) struct NotKept;

impl StackRuntime {
    /// Starts a broker, and the proxy in front of it at `listener`.
    pub(crate) async fn start(
        listener: TcpListener,
        parts: RuntimeParts,
    ) -> Result<Self, StackStartError> {
        let RuntimeParts {
            urls,
            reach,
            clock,
            projects,
            upstream,
            demo,
            proxy_state,
            upstream_timeout_ms,
            sandboxes,
            own_sandbox,
            fronts,
        } = parts;
        let launch = BrokerLaunch {
            urls: &urls,
            reach: &reach,
            clock: clock.current(),
            projects: &projects,
            proxy_state: &proxy_state,
            upstream_timeout_ms,
        };
        let (broker, store) = launch.start().await?;
        let proxy = Proxy::start(listener, broker.address, proxy_state.clone())?;
        Ok(Self {
            urls,
            reach,
            clock,
            projects,
            upstream,
            demo,
            proxy,
            proxy_state,
            attacker: Attacker::default(),
            broker: Mutex::new(Some(broker)),
            store: RwLock::new(store),
            upstream_timeout_ms,
            sandboxes,
            own_sandbox,
            _fronts: fronts,
        })
    }

    /// See [`Stack::reset`](crate::Stack::reset).
    pub(crate) async fn reset(&self) -> Result<(), StackStartError> {
        let mut broker = self.broker.lock().await;
        let clock = self.clock.restarted();
        let launch = BrokerLaunch {
            urls: &self.urls,
            reach: &self.reach,
            clock: clock.clone(),
            projects: &self.projects,
            proxy_state: &self.proxy_state,
            upstream_timeout_ms: self.upstream_timeout_ms,
        };
        let (fresh, store) = launch.start().await?;
        self.proxy.retarget(fresh.address);
        self.upstream.reset();
        if let Some(demo) = &self.demo {
            demo.reset();
        }
        self.clock.replace(clock);
        *self.store.write().unwrap_or_else(PoisonError::into_inner) = store;
        self.proxy_state.clear();
        self.projects.restore_relay_guards();
        self.attacker.clear();
        // The old broker may finish its open requests; the reset does not wait for it.
        if let Some(old) = broker.replace(fresh) {
            tokio::spawn(old.stop());
        }
        Ok(())
    }

    /// Sends the request of a recorded exchange again, and returns the `X-Request-Id` of the
    /// answer, unless a fault keeps that back.
    ///
    /// # Errors
    ///
    /// If the exchange is not kept, or not whole.
    pub(crate) async fn send_again(&self, request_id: &str) -> Result<Option<String>, NotKept> {
        let request = self.event_log().request(request_id).ok_or(NotKept)?;
        Ok(self.proxy.send_again(request).await)
    }

    /// The file with the certificate authority to trust, if there is TLS.
    pub(crate) fn ca_file(&self) -> Option<&Path> {
        self.reach.tls.as_deref().map(StackTls::ca_file)
    }

    pub(crate) fn event_log(&self) -> &EventLog {
        &self.proxy_state.event_log
    }

    pub(crate) fn faults(&self) -> &Faults {
        &self.proxy_state.faults
    }

    /// The current broker's store.
    pub(crate) fn store(&self) -> Store {
        let store = self.store.read().unwrap_or_else(PoisonError::into_inner);
        store.clone()
    }
}
