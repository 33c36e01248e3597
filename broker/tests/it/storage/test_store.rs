//! A store on an empty database, with a clock that the test moves.
//!
//! Keys, handles, browsers, codes and tokens are numbers here: key 1 is the
//! session key of 32 bytes 1, and so on.

mod values;

use std::sync::atomic::{AtomicI64, Ordering};

use async_trait::async_trait;
use broker::model::grant::{Redemption, Token};
use broker::model::login_session::{LoginOutcome, LoginSession, ResultQuery};
use broker::model::upstream_login::UpstreamLogin;
use broker::model::{LoginId, UnixMs};
use broker::store::fail_points::FailPoints;
use broker::store::{Bound, Completed, Consumed, Opened, Redeemed, ResultRead, Store};
use contract::{Profile, Rule};
pub(crate) use values::{
    CALLBACK, binding, callback, grant, handle_of, login, project, query, redemption, token_of,
    upstream_login, verifier,
};

use crate::test_broker::ada;

/// A database of one engine, empty at first.
#[async_trait]
pub(crate) trait Engine: Send + Sync {
    /// Opens the database as one more broker would, with these fail points.
    async fn open_with(&self, fail_points: FailPoints) -> Store;

    /// Opens the database as one more broker would.
    async fn open(&self) -> Store {
        self.open_with(FailPoints::NONE).await
    }

    /// The number that this `SELECT` returns, without the store.
    async fn count(&self, select: &str) -> i64;
}

/// The store under test.
pub(crate) struct TestStore {
    pub(crate) inner: Store,
    pub(crate) engine: Box<dyn Engine>,
    elapsed_ms: AtomicI64,
}

/// The time at which every test begins.
const START: UnixMs = UnixMs(1_790_000_000_123);

/// A [`ResultRead`] that can be compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Read {
    Outcome(LoginOutcome),
    Pending,
    Refused(Rule),
}

pub(crate) const CONSUMED: Read = Read::Refused(Rule::ResultOnce);
pub(crate) const EXPIRED: Read = Read::Refused(Rule::ResultExpiry);
pub(crate) const UNKNOWN: Read = Read::Refused(Rule::ResultKnown);

pub(crate) fn adas_profile() -> Read {
    Read::Outcome(LoginOutcome::Succeeded(ada()))
}

impl From<ResultRead> for Read {
    fn from(read: ResultRead) -> Self {
        match read {
            ResultRead::Outcome(outcome) => Read::Outcome(outcome),
            ResultRead::Pending(_) => Read::Pending,
            ResultRead::Refused(rule) => Read::Refused(rule),
        }
    }
}

/// A [`Redeemed`] that can be compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Exchange {
    Token,
    Refused(Rule),
}

impl From<Redeemed> for Exchange {
    fn from(redeemed: Redeemed) -> Self {
        match redeemed {
            Redeemed::Token(_) => Exchange::Token,
            Redeemed::Refused(rule, _) => Exchange::Refused(rule),
        }
    }
}

impl TestStore {
    pub(crate) async fn on(engine: impl Engine + 'static) -> Self {
        testkit::leak_check::watch_log();
        Self {
            inner: engine.open().await,
            engine: Box::new(engine),
            elapsed_ms: AtomicI64::new(0),
        }
    }

    pub(crate) fn now(&self) -> UnixMs {
        START.plus_ms(self.elapsed_ms.load(Ordering::SeqCst))
    }

    /// Sets the clock to `ms` milliseconds after the beginning.
    pub(crate) fn at_ms(&self, ms: i64) {
        self.elapsed_ms.store(ms, Ordering::SeqCst);
    }

    /// Opens a login with the key and the handle of this number, for project ada.
    pub(crate) async fn open(&self, key: u8) -> Opened {
        self.open_with(key, key, "ada").await
    }

    pub(crate) async fn open_with(&self, key: u8, handle: u8, project: &str) -> Opened {
        let login = login(key, handle_of(handle), project, self.now());
        self.inner.open(login, self.now()).await.unwrap()
    }

    pub(crate) async fn find(&self, handle: u8) -> Option<LoginSession> {
        let handle = handle_of(handle);
        self.inner.find(handle, self.now()).await.unwrap()
    }

    pub(crate) async fn bind_browser(&self, handle: u8, browser: u8) -> Bound {
        let (handle, browser) = (handle_of(handle), binding(browser));
        self.inner
            .bind_browser(handle, browser, self.now())
            .await
            .unwrap()
    }

    /// Checks that neither a browser nor its binding finds a login.
    pub(crate) async fn assert_unknown(&self, handle: u8) {
        assert!(self.find(handle).await.is_none());
        let bound = self.bind_browser(handle, 1).await;
        assert!(matches!(bound, Bound::Refused(None)));
    }

    /// Whether binding the login to this browser succeeds.
    pub(crate) async fn is_granted(&self, handle: u8, browser: u8) -> bool {
        matches!(self.bind_browser(handle, browser).await, Bound::Granted)
    }

    pub(crate) async fn complete(&self, handle: u8, outcome: LoginOutcome) -> Completed {
        let handle = handle_of(handle);
        self.inner
            .complete(handle, outcome, self.now())
            .await
            .unwrap()
    }

    /// Completes a login with Ada's profile.
    pub(crate) async fn succeed(&self, handle: u8) -> Completed {
        self.complete(handle, LoginOutcome::Succeeded(ada())).await
    }

    pub(crate) async fn consume_result(&self, key: u8) -> Read {
        self.consume_result_with(query(key)).await
    }

    pub(crate) async fn consume_result_with(&self, query: ResultQuery) -> Read {
        self.inner
            .consume_result(query, self.now())
            .await
            .unwrap()
            .into()
    }

    pub(crate) async fn consume_upstream_login(&self, upstream_login: &UpstreamLogin) -> Consumed {
        self.inner
            .consume_upstream_login(upstream_login)
            .await
            .unwrap()
    }

    /// Issues a code to project ada.
    pub(crate) async fn issue(&self, code: u8) {
        let grant = grant(code, self.now());
        self.inner.issue(grant).await.unwrap();
    }

    /// Redeems a code for the token of the same number.
    pub(crate) async fn redeem(&self, code: u8) -> Exchange {
        self.redeem_with(redemption(code, code, self.now())).await
    }

    pub(crate) async fn redeem_with(&self, redemption: Redemption) -> Exchange {
        self.inner
            .redeem(redemption, self.now())
            .await
            .unwrap()
            .into()
    }

    pub(crate) async fn token(&self, token: u8) -> Option<Token> {
        self.inner.token(token_of(token), self.now()).await.unwrap()
    }

    /// The profile that a token opens.
    pub(crate) async fn profile(&self, token: u8) -> Result<Profile, Rule> {
        match self.token(token).await {
            Some(token) => token.open(self.now()),
            None => Err(Rule::BearerKnown),
        }
    }

    pub(crate) async fn revoke(&self, token: u8) -> Option<LoginId> {
        self.inner.revoke(token_of(token)).await.unwrap()
    }

    pub(crate) async fn sweep(&self) -> usize {
        self.inner.sweep(self.now()).await.unwrap()
    }

    pub(crate) async fn rows(&self, table: &str) -> i64 {
        self.engine
            .count(&format!("SELECT count(*) FROM {table}"))
            .await
    }

    /// The number of profiles in a table.
    pub(crate) async fn profiles(&self, table: &str) -> i64 {
        self.engine
            .count(&format!(
                "SELECT count(*) FROM {table} WHERE profile IS NOT NULL"
            ))
            .await
    }
}
