//! A store on an empty database, with a clock that the test moves.
//!
//! Keys, handles, browsers, codes and tokens are numbers here: key 1 is the
//! session key of 32 bytes 1, and so on.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use broker::model::grant::{NewGrant, Redemption, Token};
use broker::model::login_session::{
    BrowserBinding, LoginOutcome, LoginSession, NewLogin, ResultQuery, open,
};
use broker::model::upstream_login::{Purpose, Seed, UpstreamLogin};
use broker::model::{LoginId, UnixMs};
use broker::store::fail_points::{FailPoint, FailPoints};
use broker::store::{Bound, Completed, Consumed, Opened, Redeemed, ResultRead, Revoked, Store};
use contract::{
    AccessToken, ClientId, CodeVerifier, Digest, GrantType, HandoffCode, LoginSessionRequest,
    Profile, Provider, RedirectUri, Rule, SessionKey, State, TokenRequest,
};

use crate::test_broker::ada;

/// A store as several callers share it.
pub(crate) type SharedStore = Store;

/// A database of one engine, empty at first.
#[async_trait]
pub(crate) trait Engine: Send + Sync {
    /// The address of the database.
    fn url(&self) -> String;

    /// Opens the database as one more broker would, with these fail points.
    fn open_with(&self, fail_points: FailPoints) -> SharedStore {
        open_at(&self.url(), fail_points)
    }

    /// Opens the database as one more broker would.
    fn open(&self) -> SharedStore {
        self.open_with(FailPoints::NONE)
    }

    /// The number that this `SELECT` returns, without the store.
    async fn count(&self, select: &str) -> i64;
}

/// Opens the database at this address as one more broker would.
pub(crate) fn open_at(url: &str, fail_points: FailPoints) -> SharedStore {
    broker::store::open(&url.parse().unwrap(), fail_points).unwrap()
}

/// A step of a store that stops before its commit.
pub(crate) struct PausedStep {
    reached: Receiver<()>,
    resume: Sender<()>,
}

impl PausedStep {
    /// Fail points at which each step stops.
    pub(crate) fn new() -> (FailPoints, Self) {
        let (sender, reached) = channel();
        let (resume, permission) = channel();
        let permission = Mutex::new(permission);
        let fail_points = FailPoints::new(move |point| {
            if point == FailPoint::BeforeCommit {
                sender.send(()).unwrap();
                permission.lock().unwrap().recv().unwrap();
            }
        });
        (fail_points, Self { reached, resume })
    }

    /// Waits until a step has stopped.
    pub(crate) fn wait(&self) {
        self.reached.recv_timeout(Duration::from_secs(20)).unwrap();
    }

    /// Lets one step go on.
    pub(crate) fn resume(&self) {
        self.resume.send(()).unwrap();
    }
}

/// The store under test.
pub(crate) struct TestStore {
    pub(crate) inner: SharedStore,
    pub(crate) engine: Arc<dyn Engine>,
    elapsed_ms: Arc<AtomicI64>,
    /// The difference of its broker's clock.
    ahead_ms: i64,
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
            Redeemed::Replayed(_) => Exchange::Refused(Rule::CodeOnce),
            Redeemed::Refused(rule, _) => Exchange::Refused(rule),
        }
    }
}

impl TestStore {
    pub(crate) fn on(engine: impl Engine + 'static) -> Self {
        testkit::leak_check::watch_log();
        Self {
            inner: engine.open(),
            engine: Arc::new(engine),
            elapsed_ms: Arc::default(),
            ahead_ms: 0,
        }
    }

    /// The store of another broker on the same database, whose clock is ahead.
    pub(crate) fn ahead_by_ms(&self, ahead_ms: i64) -> Self {
        Self {
            inner: self.engine.open(),
            engine: self.engine.clone(),
            elapsed_ms: self.elapsed_ms.clone(),
            ahead_ms,
        }
    }

    pub(crate) fn now(&self) -> UnixMs {
        START.plus_ms(self.elapsed_ms.load(Ordering::SeqCst) + self.ahead_ms)
    }

    /// Sets the clock to `ms` milliseconds after the beginning.
    pub(crate) fn at_ms(&self, ms: i64) {
        self.elapsed_ms.store(ms, Ordering::SeqCst);
    }

    /// Opens a login with the key and the handle of this number, for project ada.
    pub(crate) async fn open(&self, key: u8) -> Opened {
        self.open_with(key, key).await
    }

    pub(crate) async fn open_with(&self, key: u8, handle: u8) -> Opened {
        let login = login(key, handle_of(handle), self.now());
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
        let read = self.inner.consume_result(query(key), self.now()).await;
        read.unwrap().into()
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

    pub(crate) async fn revoke(&self, token: u8) -> Revoked {
        let revoked = self.inner.revoke(token_of(token), self.now()).await;
        revoked.unwrap()
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

pub(crate) const CALLBACK: &str = "https://app.example/cb";

fn key_of(n: u8) -> SessionKey {
    SessionKey::from_random(&[n; 32])
}

pub(crate) fn handle_of(n: u8) -> Digest {
    Digest::derive("handle", &[n])
}

pub(crate) fn binding(n: u8) -> BrowserBinding {
    BrowserBinding(Digest::derive("browser", &[n]))
}

pub(crate) fn project(name: &str) -> ClientId {
    format!("prj_{name}").parse().unwrap()
}

pub(crate) fn callback(text: &str) -> RedirectUri {
    text.parse().unwrap()
}

pub(crate) fn login(key: u8, handle: Digest, now: UnixMs) -> NewLogin {
    let request = LoginSessionRequest {
        client_id: project("ada"),
        client_secret: "unused".parse().unwrap(),
        session_key: key_of(key),
        provider: Provider::GitHub,
        redirect_uri: callback(CALLBACK),
    };
    open(&request, handle, now)
}

pub(crate) fn query(key: u8) -> ResultQuery {
    ResultQuery {
        key: key_of(key).digest(),
        project: project("ada"),
        redirect_uri: callback(CALLBACK),
    }
}

pub(crate) fn upstream_login(seed: u8, ends: UnixMs) -> UpstreamLogin {
    UpstreamLogin {
        seed: Seed::from_random([seed; 32]),
        login: LoginId::of_key(&key_of(seed)),
        provider: Provider::GitHub,
        project: project("ada"),
        callback: callback(CALLBACK).digest(),
        ends,
        purpose: Purpose::Legacy {
            state: State::from_random(&[seed; 32]),
            challenge: verifier(seed).challenge(),
        },
    }
}

pub(crate) fn verifier(n: u8) -> CodeVerifier {
    CodeVerifier::from_random(&[n; 32])
}

pub(crate) fn token_of(n: u8) -> Digest {
    AccessToken::from_random(&[n; 32]).digest()
}

pub(crate) fn grant(code: u8, now: UnixMs) -> NewGrant {
    let challenge = verifier(code).challenge();
    let digest = HandoffCode::from_random(&[code; 32]).digest();
    NewGrant::of(&upstream_login(code, now), &challenge, ada(), digest, now)
}

pub(crate) fn redemption(code: u8, token: u8, now: UnixMs) -> Redemption {
    let request = TokenRequest {
        grant_type: GrantType::AuthorizationCode,
        client_id: "prj_ada".parse().unwrap(),
        client_secret: "unused".parse().unwrap(),
        code: HandoffCode::from_random(&[code; 32]),
        redirect_uri: callback(CALLBACK),
        code_verifier: verifier(code),
    };
    Redemption::of(&request, &project("ada"), token_of(token), now)
}
