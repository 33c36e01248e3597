//! What must be single-use, and nothing else.
//!
//! Only the store decides who came first: each step is one atomic statement (or
//! one transaction around it), committed before it returns. `now` is always an
//! argument, and secrets arrive as digests.

pub mod fail_points;
pub mod postgres;
pub mod sqlite;

mod row;
pub(crate) mod skew;
mod sql;
pub(crate) mod timed;
mod url;

use std::sync::Arc;

use async_trait::async_trait;
use contract::{Digest, Rule};

use crate::model::grant::{Grant, NewGrant, Redemption, Token};
use crate::model::login_session::{
    Ask, BrowserBinding, LoginOutcome, LoginSession, NewLogin, StillPending,
};
use crate::model::upstream_login::UpstreamLogin;
use crate::model::{LoginId, UnixMs};
use fail_points::FailPoints;

pub use postgres::url::PostgresUrl;
use sql::SCHEMA_VERSION;
pub use url::StoreUrl;

/// The steps that must happen once, in the words of the two state diagrams in
/// [`model`](crate::model).
#[async_trait]
pub trait Store: Send + Sync {
    /// Whether a step could be taken now.
    async fn ready(&self) -> Result<(), StoreError>;

    /// The time of the store's own clock, if it has one that several brokers
    /// share.
    async fn time(&self) -> Result<Option<UnixMs>, StoreError> {
        Ok(None)
    }

    /// Stores a pending login, unless its key is taken. A key is free again when
    /// its login has ended.
    async fn open(&self, login: NewLogin, now: UnixMs) -> Result<Opened, StoreError>;

    /// The login behind an authorization URL, changing nothing.
    async fn find(&self, handle: Digest, now: UnixMs) -> Result<Option<LoginSession>, StoreError>;

    /// Claims a pending login for one browser: the first, and that one again.
    async fn bind_browser(
        &self,
        handle: Digest,
        browser: BrowserBinding,
        now: UnixMs,
    ) -> Result<Bound, StoreError>;

    /// Spends an upstream login, which has not ended yet: once, for the first caller.
    async fn consume_upstream_login(
        &self,
        upstream_login: &UpstreamLogin,
    ) -> Result<Consumed, StoreError>;

    /// Gives a pending login its outcome; a later one changes nothing.
    async fn complete(
        &self,
        handle: Digest,
        outcome: LoginOutcome,
        now: UnixMs,
    ) -> Result<Completed, StoreError>;

    /// Takes the outcome of a login: the only read of it that there will be.
    async fn consume_result(&self, ask: Ask, now: UnixMs) -> Result<ResultRead, StoreError>;

    /// Stores a grant under the digest of its handoff code.
    async fn issue(&self, grant: NewGrant) -> Result<(), StoreError>;

    /// Turns a code into a token, once. A second valid redemption ends the token.
    async fn redeem(&self, redemption: Redemption, now: UnixMs) -> Result<Redeemed, StoreError>;

    /// What is known of an access token.
    async fn token(&self, token: Digest, now: UnixMs) -> Result<Option<Token>, StoreError>;

    /// Ends an access token, known or not. Tells whose login it was.
    async fn revoke(&self, token: Digest) -> Result<Option<LoginId>, StoreError>;

    /// Forgets a bounded number of rows that no rule can see any more, and
    /// profiles whose time is over. Returns how many rows it touched.
    async fn sweep(&self, now: UnixMs) -> Result<usize, StoreError>;
}

/// Whether a login was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opened {
    /// It is pending now.
    Fresh,
    /// Its key belongs to a login that has not ended.
    KeyTaken,
}

/// Whether a browser was granted a login.
#[derive(Debug)]
pub enum Bound {
    /// It was, and this is the login.
    Granted(LoginSession),
    /// It was not: what the login is instead, if it is known at all.
    Refused(Option<LoginSession>),
}

/// Whether an upstream login was spent by this call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Consumed {
    /// By this one: go on.
    Now,
    /// By an earlier one.
    Before,
}

/// Whether an outcome became the login's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Completed {
    /// It did.
    Now,
    /// The login had another outcome, or had ended.
    TooLate,
}

/// What came of reading a result.
#[derive(Debug)]
pub enum ResultRead {
    /// The outcome; nobody will get it again.
    Outcome(LoginOutcome),
    /// Nothing yet, and nothing consumed.
    Pending(StillPending),
    /// Nothing, because of a rule.
    Refused(Rule),
}

impl ResultRead {
    /// Why `ask` took nothing at `now`, from the session as it is known.
    fn explained(session: Option<LoginSession>, ask: &Ask, now: UnixMs) -> Self {
        let explain = |session: LoginSession| session.explain(ask, now);
        match session.ok_or(Rule::ResultKnown).and_then(explain) {
            Ok(pending) => ResultRead::Pending(pending),
            Err(rule) => ResultRead::Refused(rule),
        }
    }
}

/// What came of redeeming a code.
#[derive(Debug)]
pub enum Redeemed {
    /// The token is stored; it belongs to this login.
    Token(LoginId),
    /// Nothing. If the grant is known, this is its login.
    Refused(Rule, Option<LoginId>),
}

impl Redeemed {
    /// Why `ask` got nothing, from the grant as it is known.
    fn explained(grant: Option<Grant>, ask: &Redemption) -> Self {
        match grant {
            Some(grant) => Redeemed::Refused(grant.explain(ask), Some(grant.login)),
            None => Redeemed::Refused(Rule::CodeKnown, None),
        }
    }
}

/// The store could not do its step. Nothing is known to have happened.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    /// The engine said no; its words, which never contain a row's data.
    #[error("the store failed: {0}")]
    Failed(String),
    /// The tables are another version's. Waiting does not help.
    #[error(
        "the database has the tables of version {0}, this broker those of {SCHEMA_VERSION}: \
         run the broker that made them, or name another database in store.url"
    )]
    OtherVersion(i64),
    /// This machine's clock and the engine's differ too much.
    #[error("{}", skew::complaint(*ahead_ms))]
    ClockDiffers {
        /// The milliseconds by which ours is ahead; negative, if it is behind.
        ahead_ms: i64,
    },
    /// The engine has stopped.
    #[error("the store has stopped")]
    Stopped,
}

/// Tables of another version are left alone.
fn check_version(found: i64) -> Result<(), StoreError> {
    match found {
        SCHEMA_VERSION => Ok(()),
        other => Err(StoreError::OtherVersion(other)),
    }
}

/// Opens the store at `url`, with `fail_points` in its steps.
///
/// # Errors
///
/// When it cannot be opened. A PostgreSQL database that cannot be reached is no
/// error here: its steps fail until it can.
pub fn open(url: &StoreUrl, fail_points: FailPoints) -> Result<Arc<dyn Store>, StoreError> {
    Ok(match url {
        StoreUrl::Postgres(url) => Arc::new(postgres::Postgres::at(url, fail_points)?),
        StoreUrl::SqliteMemory => Arc::new(sqlite::Sqlite::in_memory(fail_points)?),
        StoreUrl::SqliteFile(path) => Arc::new(sqlite::Sqlite::at(path, fail_points)?),
    })
}
