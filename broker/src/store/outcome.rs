//! The results of the store's steps, and its errors.

use contract::Rule;

use super::sql::SCHEMA_VERSION;
use crate::model::grant::{Grant, Redemption};
use crate::model::login_session::{LoginOutcome, LoginSession, ResultQuery, StillPending};
use crate::model::{LoginId, UnixMs};

/// The result of opening a login.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opened {
    /// The login is stored and pending.
    Fresh,
    /// The session key belongs to a login that has not ended. Nothing was stored.
    KeyTaken,
}

/// The result of binding a login to a browser, or of cancelling it there.
#[derive(Debug)]
pub enum Bound {
    /// The login belongs to this browser, or is over by it.
    Granted,
    /// The login is over, or belongs to another browser; `None` if it is unknown.
    Refused(Option<LoginSession>),
}

/// The result of consuming an upstream login.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Consumed {
    /// This call consumed it.
    Now,
    /// An earlier call had consumed it.
    Before,
}

/// The result of completing a login.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Completed {
    /// This call gave the login its outcome.
    Now,
    /// The login already had an outcome, or had ended. Nothing changed.
    TooLate,
}

/// The result of reading a login's outcome.
#[derive(Debug)]
pub enum ResultRead {
    /// The outcome, which is consumed: no later read returns it.
    Outcome(LoginOutcome),
    /// The login has no outcome yet. Nothing was consumed.
    Pending(StillPending),
    /// The read broke a rule. Nothing was consumed.
    Refused(Rule),
}

/// The result of redeeming a handoff code.
#[derive(Debug)]
pub enum Redeemed {
    /// The token is stored; it belongs to this login.
    Token(LoginId),
    /// A second valid redemption, which has ended the token of this login.
    Replayed(LoginId),
    /// The redemption broke a rule; with the grant's login, if the grant is known.
    Refused(Rule, Option<LoginId>),
}

/// The result of a revocation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Revoked {
    /// The token was good until now; it belongs to this login.
    Now(LoginId),
    /// It had ended before, or was never issued; with its login, if the token is known.
    Before(Option<LoginId>),
}

impl ResultRead {
    /// Explains why `ask` read nothing at `now`, from the session as it is stored.
    pub(super) fn explained(session: Option<LoginSession>, ask: &ResultQuery, now: UnixMs) -> Self {
        let explain = |session: LoginSession| session.explain(ask, now);
        match session.ok_or(Rule::ResultKnown).and_then(explain) {
            Ok(pending) => ResultRead::Pending(pending),
            Err(rule) => ResultRead::Refused(rule),
        }
    }
}

impl Redeemed {
    /// Explains why `redemption` got no token, from the grant as it is stored.
    pub(super) fn explained(grant: Option<Grant>, redemption: &Redemption) -> Self {
        match grant {
            Some(grant) => Redeemed::Refused(grant.explain(redemption), Some(grant.login)),
            None => Redeemed::Refused(Rule::CodeKnown, None),
        }
    }
}

/// A step of the store failed. The caller must not assume that it happened.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    /// The engine reported an error; its message, which never contains a row's data.
    #[error("the store failed: {0}")]
    Failed(String),
    /// The tables have another version. Waiting does not help.
    #[error(
        "the database has the tables of version {0}, this broker those of {SCHEMA_VERSION}: \
         run the broker that made them, or name another database in store.url"
    )]
    OtherVersion(i64),
    /// The clocks of this machine and of the database differ too much.
    #[error("{}", clocks_differ(*ahead_ms, *allowed_ms))]
    ClockDiffers {
        /// The milliseconds by which this machine's clock is ahead; negative if it
        /// is behind.
        ahead_ms: i64,
        /// The largest difference that is allowed, in milliseconds.
        allowed_ms: i64,
    },
    /// The engine has stopped.
    #[error("the store has stopped")]
    Stopped,
}

/// Rejects tables of another version.
pub(super) fn check_version(found: i64) -> Result<(), StoreError> {
    match found {
        SCHEMA_VERSION => Ok(()),
        other => Err(StoreError::OtherVersion(other)),
    }
}

fn clocks_differ(ahead_ms: i64, allowed_ms: i64) -> String {
    let seconds = ahead_ms.unsigned_abs() / 1000;
    let direction = if ahead_ms > 0 { "ahead of" } else { "behind" };
    format!(
        "this broker's clock is {seconds} s {direction} the database's, and may differ by {} s: \
         brokers that share a database must agree about what has expired; set the clocks \
         right, and restart the broker if its own was ahead",
        allowed_ms / 1000
    )
}
