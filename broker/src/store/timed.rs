//! A store whose steps are measured.

use std::sync::Arc;

use async_trait::async_trait;
use contract::Digest;

use super::{Claim, Opened, Redeemed, Settled, Spent, Store, StoreError, Taken};
use crate::clock::Stopwatch;
use crate::flows::clean::{Ask, BrowserMark, LoginSession, NewLogin, Outcome};
use crate::flows::legacy::{NewGrant, Redemption, Token};
use crate::flows::upstream_login::UpstreamLogin;
use crate::flows::{Fingerprint, UnixMs};
use crate::metrics::Metrics;

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

    async fn claim(
        &self,
        handle: Digest,
        browser: BrowserMark,
        now: UnixMs,
    ) -> Result<Claim, StoreError> {
        let claim = self.store.claim(handle, browser, now);
        self.step("claim", claim).await
    }

    async fn spend(&self, upstream_login: &UpstreamLogin) -> Result<Spent, StoreError> {
        self.step("spend", self.store.spend(upstream_login)).await
    }

    async fn settle(
        &self,
        handle: Digest,
        outcome: Outcome,
        now: UnixMs,
    ) -> Result<Settled, StoreError> {
        let settle = self.store.settle(handle, outcome, now);
        self.step("settle", settle).await
    }

    async fn take(&self, ask: Ask, now: UnixMs) -> Result<Taken, StoreError> {
        self.step("take", self.store.take(ask, now)).await
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

    async fn revoke(&self, token: Digest) -> Result<Option<Fingerprint>, StoreError> {
        self.step("revoke", self.store.revoke(token)).await
    }

    async fn sweep(&self, now: UnixMs) -> Result<usize, StoreError> {
        self.step("sweep", self.store.sweep(now)).await
    }
}
