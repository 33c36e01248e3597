//! What clients heard about one single-use thing, with the times between which
//! each heard it, and what may not be among that.
//!
//! Times are nanoseconds on one clock of the process that runs all clients, so
//! that "invoked after another returned" is a fact and not a guess.

use std::fmt;

/// What a client heard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Heard {
    /// It got the thing.
    Granted,
    /// It was refused.
    Refused,
    /// There is nothing to get yet: a pending result.
    NotYet,
    /// The thing is over from now on: a revocation, or what counts as one.
    Ended,
    /// Nothing: no answer, or one that says that the broker could not.
    Nothing,
}

/// One call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Call {
    /// When it was begun.
    pub(crate) invoked_ns: u64,
    /// When its answer was there.
    pub(crate) returned_ns: u64,
    /// What the answer was.
    pub(crate) heard: Heard,
}

/// What is contended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Thing {
    /// `POST /v1/login/session` with one key.
    SessionKey,
    /// Browsers at one authorization URL.
    Claim,
    /// One callback, delivered again and again.
    UpstreamLogin,
    /// `POST /v1/login/result`.
    Result,
    /// `POST /v1/token` with one code.
    Code,
    /// `GET /v1/profile` after its code was redeemed twice.
    ReplayedToken,
    /// `GET /v1/profile` among revocations.
    RevokedToken,
}

impl Thing {
    pub(crate) const ALL: [Self; 7] = [
        Self::SessionKey,
        Self::Claim,
        Self::UpstreamLogin,
        Self::Result,
        Self::Code,
        Self::ReplayedToken,
        Self::RevokedToken,
    ];

    /// What it is called in a report.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::SessionKey => "session key",
            Self::Claim => "claim",
            Self::UpstreamLogin => "upstream_login",
            Self::Result => "result",
            Self::Code => "code",
            Self::ReplayedToken => "token of a replayed code",
            Self::RevokedToken => "revoked token",
        }
    }

    /// Whether it may be had once, rather than until it is ended.
    fn is_single_use(self) -> bool {
        !matches!(self, Self::ReplayedToken | Self::RevokedToken)
    }
}

/// All calls about one thing.
#[derive(Debug)]
pub(crate) struct History {
    pub(crate) thing: Thing,
    pub(crate) calls: Vec<Call>,
}

/// What is wrong with a history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Violation {
    /// It was granted more than once.
    Twice,
    /// Everybody was answered and nobody got it.
    Never,
    /// A call that began after it was gone got it, or was told to wait for it.
    Late,
}

impl History {
    /// Finds what must not be in it.
    pub(crate) fn check(&self) -> Result<(), Violation> {
        let granted = self.count(Heard::Granted);
        if self.thing.is_single_use() {
            if granted > 1 {
                return Err(Violation::Twice);
            }
            if granted == 0 && self.count(Heard::Nothing) == 0 {
                return Err(Violation::Never);
            }
        }
        match self.gone_ns() {
            Some(gone_ns) if self.calls.iter().any(|call| call.hopes_after(gone_ns)) => {
                Err(Violation::Late)
            }
            _ => Ok(()),
        }
    }

    /// The refusals of a code, as what they are to its token: its end.
    pub(crate) fn refusals_as_ends(&self) -> Vec<Call> {
        let refusals = self
            .calls
            .iter()
            .filter(|call| call.heard == Heard::Refused);
        let ends = refusals.map(|call| Call {
            heard: Heard::Ended,
            ..*call
        });
        ends.collect()
    }

    /// From when on everybody had to be refused: when the first call that used
    /// it up, or ended it, had returned.
    fn gone_ns(&self) -> Option<u64> {
        let last = if self.thing.is_single_use() {
            Heard::Granted
        } else {
            Heard::Ended
        };
        self.calls
            .iter()
            .filter(|call| call.heard == last)
            .map(|call| call.returned_ns)
            .min()
    }

    fn count(&self, heard: Heard) -> usize {
        self.calls.iter().filter(|call| call.heard == heard).count()
    }
}

impl Call {
    fn hopes_after(&self, gone_ns: u64) -> bool {
        self.invoked_ns > gone_ns && matches!(self.heard, Heard::Granted | Heard::NotYet)
    }
}

impl fmt::Display for History {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}:", self.thing.name())?;
        let begin_ns = self.calls.iter().map(|call| call.invoked_ns).min();
        let mut calls = self.calls.clone();
        calls.sort_by_key(|call| call.invoked_ns);
        for call in calls {
            let micros = |ns: u64| (ns - begin_ns.unwrap_or_default()) / 1_000;
            let (from, to) = (micros(call.invoked_ns), micros(call.returned_ns));
            writeln!(f, "  {from:>8} to {to:>8} µs  {:?}", call.heard)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Heard::{Ended, Granted, NotYet, Nothing, Refused};
    use super::*;

    fn check(thing: Thing, calls: &[(u64, u64, Heard)]) -> Result<(), Violation> {
        let calls = calls
            .iter()
            .map(|&(invoked_ns, returned_ns, heard)| Call {
                invoked_ns,
                returned_ns,
                heard,
            })
            .collect();
        History { thing, calls }.check()
    }

    #[test]
    fn one_success_among_refusals_is_right() {
        let calls = [(0, 9, Refused), (1, 5, Granted), (6, 9, Refused)];
        assert_eq!(check(Thing::Code, &calls), Ok(()));
    }

    #[test]
    fn two_successes_are_wrong_however_they_overlap() {
        let calls = [(0, 9, Granted), (1, 5, Granted)];
        assert_eq!(check(Thing::Result, &calls), Err(Violation::Twice));
    }

    #[test]
    fn nobody_is_wrong_unless_somebody_heard_nothing() {
        let refused = (0, 9, Refused);
        assert_eq!(
            check(Thing::UpstreamLogin, &[refused]),
            Err(Violation::Never)
        );
        assert_eq!(
            check(Thing::UpstreamLogin, &[refused, (1, 2, Nothing)]),
            Ok(())
        );
    }

    #[test]
    fn who_asks_after_a_success_is_not_told_to_wait() {
        let success = (0, 5, Granted);
        let late = [success, (6, 9, NotYet)];
        assert_eq!(check(Thing::Result, &late), Err(Violation::Late));
        let meanwhile = [success, (4, 9, NotYet)];
        assert_eq!(check(Thing::Result, &meanwhile), Ok(()));
    }

    #[test]
    fn a_token_is_good_for_many_until_it_is_ended() {
        let until = [(0, 5, Granted), (1, 7, Granted), (2, 6, Ended)];
        assert_eq!(check(Thing::RevokedToken, &until), Ok(()));
        let after = [(2, 6, Ended), (7, 9, Granted), (8, 9, Ended)];
        assert_eq!(check(Thing::RevokedToken, &after), Err(Violation::Late));
        let in_time = [(2, 6, Ended), (8, 9, Ended), (7, 9, Refused)];
        assert_eq!(check(Thing::ReplayedToken, &in_time), Ok(()));
    }
}
