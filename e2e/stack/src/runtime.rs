//! The running parts of a stack, the restart of its broker, and the reset that begins again with
//! a fresh one.

mod broker_setup;
mod reach;
mod server;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex as SyncMutex, MutexGuard, PoisonError, RwLock};

use broker::store::Store;
use mock_upstream::{MockUpstream, Provider, Upstream};
use tokio::sync::{Mutex, watch};

use crate::event_log::EventLog;
use crate::faults::Faults;
use crate::practice::Practice;
use crate::projects::ProjectRegistry;
use crate::proxy::{Proxy, ProxyState};
use crate::settings::StackStartError;
use crate::time::StackClock;
use crate::tls::TlsFront;

pub(crate) use broker_setup::{
    BrokerSetup, BrokerState, UPSTREAM_CLIENT_ID, UPSTREAM_CLIENT_SECRET,
};
pub use reach::StackUrls;
pub(crate) use reach::{
    BEHIND_FRONT, OwnSandbox, Reach, SandboxDirectory, SandboxId, SandboxLink, ServerUrls,
    UpstreamUrls, own_origin,
};
pub(crate) use server::{BoundPort, ServerHandle, ServerName, Stopping};
pub use server::{free_port, silence_rocket};

/// The running parts of a stack, which the control address and the inspector act on.
pub(crate) struct StackRuntime {
    pub(crate) urls: ServerUrls,
    pub(crate) reach: Reach,
    pub(crate) clock: StackClock,
    pub(crate) projects: ProjectRegistry,
    pub(crate) upstream: RunningUpstream,
    pub(crate) demo: Option<Arc<consumer_demo::App>>,
    pub(crate) proxy: Proxy,
    pub(crate) proxy_state: Arc<ProxyState>,
    pub(crate) broker_setup: BrokerSetup,
    /// `None` once the stack has stopped.
    pub(crate) broker: Mutex<Option<ServerHandle>>,
    pub(crate) broker_state: RwLock<BrokerState>,
    /// The exercises of the learner, as they were posted last.
    pub(crate) practice: RwLock<Option<Practice>>,
    pub(crate) lesson_steps: SyncMutex<BTreeMap<&'static str, usize>>,
    /// The sandboxes of the process.
    pub(crate) sandboxes: Arc<SandboxDirectory>,
    /// `None` unless this is a sandbox itself.
    pub(crate) own_sandbox: Option<OwnSandbox>,
    /// The number of control calls that may have changed something, of which no event tells.
    pub(crate) changes: watch::Sender<u64>,
    /// That of the proxy, if there is TLS.
    pub(crate) _front: Option<TlsFront>,
}

/// The running providers, those of a stack or alone. Dropping it stops them.
pub(crate) struct RunningUpstream {
    pub(crate) mock: MockUpstream,
    pub(crate) clock: StackClock,
    pub(crate) reach: Reach,
    /// The fronts that clients reach them by, if there is TLS.
    pub(crate) _fronts: Vec<TlsFront>,
}

/// The request of an exchange is not kept, or not whole.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("call: the request of this exchange is no longer kept, or was not kept whole")]
pub(crate) struct NotKept;

impl RunningUpstream {
    pub(crate) fn provider(&self, provider: Provider) -> &Upstream {
        self.mock.provider(provider)
    }

    /// The URLs of both.
    pub(crate) fn urls(&self) -> UpstreamUrls {
        UpstreamUrls {
            google: self.mock.google().url().to_owned(),
            github: self.mock.github().url().to_owned(),
        }
    }

    /// Begins again without a stack: also the switches, the keys and the clock.
    pub(crate) fn reset(&self) {
        self.mock.reset();
        self.clock.replace(self.clock.restarted());
    }
}

impl StackRuntime {
    /// See [`Stack::reset`](crate::Stack::reset).
    pub(crate) async fn reset(&self) -> Result<(), StackStartError> {
        let mut broker = self.broker.lock().await;
        let clock = self.clock.restarted();
        let state = self.broker_setup.fresh_state()?;
        let fresh = self.broker_setup.start(&state, clock.clone()).await?;
        self.proxy.retarget(fresh.address);
        self.upstream.mock.reset();
        if let Some(demo) = &self.demo {
            demo.reset();
        }
        self.clock.replace(clock);
        *self
            .broker_state
            .write()
            .unwrap_or_else(PoisonError::into_inner) = state;
        self.proxy_state.clear();
        self.projects.restore_relay_guards();
        // The old broker may finish its open requests; the reset does not wait for it.
        if let Some(old) = broker.replace(fresh) {
            tokio::spawn(old.stop());
        }
        Ok(())
    }

    /// Starts another broker on the store of the present one, which answers the requests that it
    /// has and ends.
    pub(crate) async fn restart_broker(&self) -> Result<(), StackStartError> {
        let mut broker = self.broker.lock().await;
        let state = self.broker_state();
        let fresh = self.broker_setup.start(&state, self.clock.current());
        let fresh = fresh.await?;
        self.proxy.retarget(fresh.address);
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

    pub(crate) fn event_log(&self) -> &EventLog {
        &self.proxy_state.event_log
    }

    pub(crate) fn faults(&self) -> &Faults {
        &self.proxy_state.faults
    }

    /// The exercises of the learner, if a program has posted them.
    pub(crate) fn practice(&self) -> Option<Practice> {
        let practice = self.practice.read();
        practice.unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn keep_practice(&self, latest: Practice) {
        let practice = self.practice.write();
        *practice.unwrap_or_else(PoisonError::into_inner) = Some(latest);
    }

    /// Keeps the number of steps that the page of a lesson shows as done, for the wall of a
    /// class. A lesson that begins again, or a reset, takes nothing away.
    pub(crate) fn keep_lesson_steps(&self, lesson: &'static str, done: usize) {
        let mut steps = self.lesson_steps();
        let most = steps.entry(lesson).or_default();
        *most = done.max(*most);
    }

    /// The most steps of each lesson that its page has shown as done.
    pub(crate) fn lesson_steps(&self) -> MutexGuard<'_, BTreeMap<&'static str, usize>> {
        let steps = self.lesson_steps.lock();
        steps.unwrap_or_else(PoisonError::into_inner)
    }

    /// The current broker's store.
    pub(crate) fn store(&self) -> Store {
        self.broker_state().store
    }

    fn broker_state(&self) -> BrokerState {
        let state = self.broker_state.read();
        state.unwrap_or_else(PoisonError::into_inner).clone()
    }
}
