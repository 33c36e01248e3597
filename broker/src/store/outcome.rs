//! The results of the store's steps.

use contract::Rule;

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

/// The result of binding a login to a browser.
#[derive(Debug)]
pub enum Bound {
    /// The login belongs to this browser.
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
    /// The redemption broke a rule; with the grant's login, if the grant is known.
    Refused(Rule, Option<LoginId>),
}

impl Opened {
    pub(super) fn by_rows_changed(rows: u64) -> Self {
        match rows {
            0 => Self::KeyTaken,
            _ => Self::Fresh,
        }
    }
}

impl Consumed {
    pub(super) fn by_rows_changed(rows: u64) -> Self {
        match rows {
            0 => Self::Before,
            _ => Self::Now,
        }
    }
}

impl Completed {
    pub(super) fn by_rows_changed(rows: u64) -> Self {
        match rows {
            0 => Self::TooLate,
            _ => Self::Now,
        }
    }
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
