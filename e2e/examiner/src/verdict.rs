//! The verdict on a check, and the reasons for which a check ends early.

use agent::control::ControlError;
use strum::{Display, EnumString, VariantArray};

use crate::transcript::{Transcript, printable};

/// The verdict on one check, the most severe one first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Display, EnumString, VariantArray)]
#[strum(serialize_all = "UPPERCASE")]
pub enum Verdict {
    /// The app does something else than the check expects.
    Fail,
    /// The app never got to the point; nothing is known, which is no better than a failure.
    #[strum(serialize = "NOT TESTABLE")]
    NotTestable,
    /// The examiner itself failed.
    Harness,
    /// Nothing is known: a tool is missing, or there was no way to try it.
    #[strum(serialize = "NOT TESTED")]
    NotTested,
    /// The app does what the check expects.
    Pass,
    /// The check does not concern this app.
    #[strum(serialize = "NOT APPLICABLE")]
    NotApplicable,
}

impl Verdict {
    /// Whether the app has to change, or has to be made testable.
    pub fn is_red(self) -> bool {
        matches!(self, Self::Fail | Self::NotTestable)
    }
}

/// The reason for which a check ended without a pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stop {
    pub(crate) verdict: Verdict,
    /// The observation, as a sentence without secrets.
    pub(crate) actual: String,
    /// Whether an attacker was seen in another person's account.
    pub(crate) is_takeover: bool,
    /// Whether an error of the server hides the rest of what the check looks for.
    pub(crate) is_server_error: bool,
}

impl Stop {
    fn new(verdict: Verdict, actual: impl Into<String>) -> Self {
        Self {
            verdict,
            // A place in which a secret was found may be made of it.
            actual: printable(&stack::mask::scrub(&actual.into())),
            is_takeover: false,
            is_server_error: false,
        }
    }

    /// The app broke the rule.
    pub(crate) fn fail(actual: impl Into<String>) -> Self {
        Self::new(Verdict::Fail, actual)
    }

    pub(crate) fn not_testable(reason: impl Into<String>) -> Self {
        Self::new(Verdict::NotTestable, reason)
    }

    pub(crate) fn not_applicable(reason: impl Into<String>) -> Self {
        Self::new(Verdict::NotApplicable, reason)
    }

    pub(crate) fn not_tested(reason: impl Into<String>) -> Self {
        Self::new(Verdict::NotTested, reason)
    }

    pub(crate) fn harness(reason: impl Into<String>) -> Self {
        Self::new(Verdict::Harness, reason)
    }
}

/// A stack that cannot be controlled is no fault of the app.
impl From<ControlError> for Stop {
    fn from(error: ControlError) -> Self {
        Self::harness(error)
    }
}

/// The observation alone, where no check runs yet.
impl From<Stop> for String {
    fn from(stop: Stop) -> Self {
        stop.actual
    }
}

/// Ends the check as a failure if the app answers with a server's error: what it would have
/// done stays unknown.
pub(crate) fn require_no_server_error<T: Into<String>>(
    status: u16,
    actual: impl FnOnce() -> T,
) -> Outcome {
    require(status < 500, actual).map_err(|stop| Stop {
        is_server_error: true,
        ..stop
    })
}

/// Ends the check as a failure if one person was seen in the account of another.
pub(crate) fn no_takeover<T: Into<String>>(is_seen: bool, actual: impl FnOnce() -> T) -> Outcome {
    require(!is_seen, actual).map_err(|stop| Stop {
        is_takeover: true,
        ..stop
    })
}

/// The outcome of a check, or of a step of one.
pub(crate) type Outcome<T = ()> = Result<T, Stop>;

/// Tries the cases of a check one after the other: each failure is reported, not only the first.
/// A case that ends otherwise is the last, and counts only if none has failed.
pub(crate) async fn each<C: Future<Output = Outcome>>(
    transcript: &Transcript,
    cases: Vec<C>,
) -> Outcome {
    let mut stops: Vec<Stop> = Vec::new();
    for case in cases {
        let Err(stop) = case.await else { continue };
        let has_failed = stop.verdict == Verdict::Fail;
        if has_failed {
            transcript.mark_wrong();
        }
        if has_failed || stops.is_empty() {
            stops.push(stop);
        }
        if !has_failed {
            break;
        }
    }
    let all = stops.into_iter().reduce(|all, next| Stop {
        actual: format!("{}; {}", all.actual, next.actual),
        is_takeover: all.is_takeover || next.is_takeover,
        is_server_error: all.is_server_error && next.is_server_error,
        ..all
    });
    all.map_or(Ok(()), Err)
}

/// Ends the check as a failure unless `holds`.
pub(crate) fn require<T: Into<String>>(holds: bool, actual: impl FnOnce() -> T) -> Outcome {
    holds.then_some(()).ok_or_else(|| Stop::fail(actual()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn every_case_that_fails_is_reported_also_before_another_end() {
        let fail = |text: &str| Err(Stop::fail(text));
        let late = || Err(Stop::not_testable("no page"));
        for (outcomes, end) in [
            (
                vec![fail("a"), Ok(()), fail("b"), late(), fail("c")],
                fail("a; b"),
            ),
            (vec![Ok(()), late(), fail("a")], late()),
            (vec![Ok(())], Ok(())),
        ] {
            let cases: Vec<_> = outcomes.into_iter().map(std::future::ready).collect();
            assert_eq!(each(&Transcript::start(), cases).await, end);
        }
    }

    #[test]
    fn a_secret_in_an_observation_is_masked() {
        let key = crate::random::secret();
        let stop = Stop::fail(format!("the session key is in the address /done/{key}"));
        let masked = stack::mask::mask(&key);
        let sentence = format!("the session key is in the address /done/{masked}");
        assert_eq!(stop.actual, sentence);
    }
}
