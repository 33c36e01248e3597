//! A store that counts its changes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use async_trait::async_trait;
use broker::model::grant::{NewGrant, Redemption, Token};
use broker::model::login_session::{
    BrowserBinding, LoginOutcome, LoginSession, NewLogin, ResultQuery,
};
use broker::model::upstream_login::UpstreamLogin;
use broker::model::{LoginId, UnixMs};
use broker::store::{Bound, Completed, Consumed, Opened, Redeemed, ResultRead, Store, StoreError};
use contract::Digest;

/// Passes every call on to `store`.
pub(super) struct CountingStore {
    store: Arc<dyn Store>,
    changes: AtomicU32,
}

impl CountingStore {
    pub(super) fn of(store: Arc<dyn Store>) -> Self {
        Self {
            store,
            changes: AtomicU32::new(0),
        }
    }

    /// The number of changes since the last call.
    pub(super) fn changes(&self) -> u32 {
        self.changes.swap(0, Ordering::Relaxed)
    }

    /// Returns `done`, and counts it if it is a change.
    fn counted<T>(&self, done: T, is_change: impl FnOnce(&T) -> bool) -> T {
        if is_change(&done) {
            self.changes.fetch_add(1, Ordering::Relaxed);
        }
        done
    }
}

#[async_trait]
impl Store for CountingStore {
    async fn ready(&self) -> Result<(), StoreError> {
        self.store.ready().await
    }

    async fn open(&self, login: NewLogin, now: UnixMs) -> Result<Opened, StoreError> {
        let done = self.store.open(login, now).await;
        self.counted(done, |done| matches!(done, Ok(Opened::Fresh)))
    }

    async fn find(&self, handle: Digest, now: UnixMs) -> Result<Option<LoginSession>, StoreError> {
        self.store.find(handle, now).await
    }

    async fn bind_browser(
        &self,
        handle: Digest,
        browser: BrowserBinding,
        now: UnixMs,
    ) -> Result<Bound, StoreError> {
        let done = self.store.bind_browser(handle, browser, now).await;
        self.counted(done, |done| matches!(done, Ok(Bound::Granted)))
    }

    async fn consume_upstream_login(
        &self,
        upstream_login: &UpstreamLogin,
    ) -> Result<Consumed, StoreError> {
        let done = self.store.consume_upstream_login(upstream_login).await;
        self.counted(done, |done| matches!(done, Ok(Consumed::Now)))
    }

    async fn complete(
        &self,
        handle: Digest,
        outcome: LoginOutcome,
        now: UnixMs,
    ) -> Result<Completed, StoreError> {
        let done = self.store.complete(handle, outcome, now).await;
        self.counted(done, |done| matches!(done, Ok(Completed::Now)))
    }

    async fn consume_result(
        &self,
        ask: ResultQuery,
        now: UnixMs,
    ) -> Result<ResultRead, StoreError> {
        let done = self.store.consume_result(ask, now).await;
        self.counted(done, |done| matches!(done, Ok(ResultRead::Outcome(_))))
    }

    async fn issue(&self, grant: NewGrant) -> Result<(), StoreError> {
        let done = self.store.issue(grant).await;
        self.counted(done, Result::is_ok)
    }

    async fn redeem(&self, redemption: Redemption, now: UnixMs) -> Result<Redeemed, StoreError> {
        let done = self.store.redeem(redemption, now).await;
        self.counted(done, |done| matches!(done, Ok(Redeemed::Token(_))))
    }

    async fn token(&self, token: Digest, now: UnixMs) -> Result<Option<Token>, StoreError> {
        self.store.token(token, now).await
    }

    async fn revoke(&self, token: Digest) -> Result<Option<LoginId>, StoreError> {
        let done = self.store.revoke(token).await;
        self.counted(done, |done| matches!(done, Ok(Some(_))))
    }

    async fn sweep(&self, now: UnixMs) -> Result<usize, StoreError> {
        self.store.sweep(now).await
    }
}
