//! A store whose steps are measured.

use std::sync::Arc;

use async_trait::async_trait;
use contract::Digest;

use super::{Bound, Completed, Consumed, Opened, Redeemed, ResultRead, Store, StoreError};
use crate::clock::Stopwatch;
use crate::metrics::Metrics;
use crate::model::grant::{NewGrant, Redemption, Token};
use crate::model::login_session::{Ask, BrowserBinding, LoginOutcome, LoginSession, NewLogin};
use crate::model::upstream_login::UpstreamLogin;
use crate::model::{LoginId, UnixMs};

/// Does what `store` does, and tells how long it took.
pub(crate) struct Timed {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) metrics: Metrics,
}

impl Timed {
    async fn step<T>(
        &self,
        name: &'static str,
        step: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        let watch = Stopwatch::start();
        let done = step.await;
        self.metrics.hear_of_store(name, watch.elapsed(), &done);
        done
    }
}

#[async_trait]
impl Store for Timed {
    async fn ready(&self) -> Result<(), StoreError> {
        self.step("ready", self.store.ready()).await
    }

    async fn time(&self) -> Result<Option<UnixMs>, StoreError> {
        self.step("time", self.store.time()).await
    }

    async fn open(&self, login: NewLogin, now: UnixMs) -> Result<Opened, StoreError> {
        self.step("open", self.store.open(login, now)).await
    }

    async fn find(&self, handle: Digest, now: UnixMs) -> Result<Option<LoginSession>, StoreError> {
        self.step("find", self.store.find(handle, now)).await
    }

    async fn bind_browser(
        &self,
        handle: Digest,
        browser: BrowserBinding,
        now: UnixMs,
    ) -> Result<Bound, StoreError> {
        let claim = self.store.bind_browser(handle, browser, now);
        self.step("bind_browser", claim).await
    }

    async fn consume_upstream_login(
        &self,
        upstream_login: &UpstreamLogin,
    ) -> Result<Consumed, StoreError> {
        self.step(
            "consume_upstream_login",
            self.store.consume_upstream_login(upstream_login),
        )
        .await
    }

    async fn complete(
        &self,
        handle: Digest,
        outcome: LoginOutcome,
        now: UnixMs,
    ) -> Result<Completed, StoreError> {
        let settle = self.store.complete(handle, outcome, now);
        self.step("complete", settle).await
    }

    async fn consume_result(&self, ask: Ask, now: UnixMs) -> Result<ResultRead, StoreError> {
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
        self.step("token", self.store.token(token, now)).await
    }

    async fn revoke(&self, token: Digest) -> Result<Option<LoginId>, StoreError> {
        self.step("revoke", self.store.revoke(token)).await
    }

    async fn sweep(&self, now: UnixMs) -> Result<usize, StoreError> {
        self.step("sweep", self.store.sweep(now)).await
    }
}
