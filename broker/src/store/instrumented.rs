//! A store that measures its steps.

use std::sync::Arc;

use async_trait::async_trait;
use contract::Digest;

use super::error::StoreError;
use super::interface::Store;
use super::outcome::{Bound, Completed, Consumed, Opened, Redeemed, ResultRead};
use super::step_queue::StepQueue;
use crate::clock::Stopwatch;
use crate::metrics::Metrics;
use crate::model::grant::{NewGrant, Redemption, Token};
use crate::model::login_session::{
    BrowserBinding, LoginOutcome, LoginSession, NewLogin, ResultQuery,
};
use crate::model::upstream_login::UpstreamLogin;
use crate::model::{LoginId, UnixMs};

/// Passes each step on to `store`, and reports its duration and result to `metrics`. Those
/// that commit are counted in `queue` while they wait: a read of a file waits for none of
/// them, and would hide how long they take.
pub(crate) struct Instrumented {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) queue: Arc<StepQueue>,
    pub(crate) metrics: Option<Metrics>,
}

impl Instrumented {
    async fn step<T>(
        &self,
        name: &'static str,
        step: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        let waiting = self.queue.enter();
        let result = self.read(name, step).await;
        waiting.end();
        result
    }

    async fn read<T>(
        &self,
        name: &'static str,
        step: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        let stopwatch = Stopwatch::start();
        let result = step.await;
        if let Some(metrics) = &self.metrics {
            metrics.observe_store_step(name, stopwatch.elapsed(), &result);
        }
        result
    }
}

#[async_trait]
impl Store for Instrumented {
    async fn ready(&self) -> Result<(), StoreError> {
        self.read("ready", self.store.ready()).await
    }

    async fn time(&self) -> Result<Option<UnixMs>, StoreError> {
        self.read("time", self.store.time()).await
    }

    async fn open(&self, login: NewLogin, now: UnixMs) -> Result<Opened, StoreError> {
        self.step("open", self.store.open(login, now)).await
    }

    async fn find(&self, handle: Digest, now: UnixMs) -> Result<Option<LoginSession>, StoreError> {
        self.read("find", self.store.find(handle, now)).await
    }

    async fn bind_browser(
        &self,
        handle: Digest,
        browser: BrowserBinding,
        now: UnixMs,
    ) -> Result<Bound, StoreError> {
        let bind = self.store.bind_browser(handle, browser, now);
        self.step("bind_browser", bind).await
    }

    async fn consume_upstream_login(
        &self,
        upstream_login: &UpstreamLogin,
    ) -> Result<Consumed, StoreError> {
        let consume = self.store.consume_upstream_login(upstream_login);
        self.step("consume_upstream_login", consume).await
    }

    async fn complete(
        &self,
        handle: Digest,
        outcome: LoginOutcome,
        now: UnixMs,
    ) -> Result<Completed, StoreError> {
        let complete = self.store.complete(handle, outcome, now);
        self.step("complete", complete).await
    }

    async fn consume_result(
        &self,
        ask: ResultQuery,
        now: UnixMs,
    ) -> Result<ResultRead, StoreError> {
        self.step("consume_result", self.store.consume_result(ask, now))
            .await
    }

    async fn issue(&self, grant: NewGrant) -> Result<(), StoreError> {
        self.step("issue", self.store.issue(grant)).await
    }

    async fn redeem(&self, redemption: Redemption, now: UnixMs) -> Result<Redeemed, StoreError> {
        self.step("redeem", self.store.redeem(redemption, now))
            .await
    }

    async fn token(&self, token: Digest, now: UnixMs) -> Result<Option<Token>, StoreError> {
        self.read("token", self.store.token(token, now)).await
    }

    async fn revoke(&self, token: Digest) -> Result<Option<LoginId>, StoreError> {
        self.step("revoke", self.store.revoke(token)).await
    }

    async fn sweep(&self, now: UnixMs) -> Result<usize, StoreError> {
        self.step("sweep", self.store.sweep(now)).await
    }
}
