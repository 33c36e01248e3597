//! The grade: by the attacks that are open, never by points.

use serde::{Serialize, Serializer};

use crate::catalogue::{Effect, Severity};
use crate::examination::CheckResult;
use crate::verdict::Verdict;

/// The grade of an app, the worst one first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Grade {
    /// An account was taken over, and the report shows it.
    F,
    /// An attack is open, or could not be ruled out.
    C,
    /// An attack needs a second weakness, or the specification is broken without one.
    B,
    /// No attack is open; something that is good practice is missing.
    A,
    /// Everything passes.
    APlus,
}

impl Grade {
    /// The grade of these results.
    pub fn of(results: &[CheckResult]) -> Self {
        let worst = results.iter().map(Self::of_one).min();
        worst.unwrap_or(Self::C)
    }

    fn of_one(result: &CheckResult) -> Self {
        let check = result.check;
        match result.verdict {
            Verdict::Pass | Verdict::NotApplicable => Self::APlus,
            // Nothing is known against the app, and nothing for it.
            Verdict::NotTested | Verdict::Harness => Self::A,
            Verdict::Fail if result.is_takeover => Self::F,
            // Nothing is known: it may be as bad as that.
            Verdict::Fail | Verdict::NotTestable => match (check.if_broken, check.severity) {
                (Effect::Attack, _) => Self::C,
                (_, Severity::Must) => Self::B,
                (_, Severity::Should | Severity::Advice) => Self::A,
            },
        }
    }

    /// The grade as it is written: `A+`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::APlus => "A+",
            Self::A => "A",
            Self::B => "B",
            Self::C => "C",
            Self::F => "F",
        }
    }

    /// The meaning of the grade, in one sentence.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::APlus => "Everything passes.",
            Self::A => "No attack is open; good practice is missing in places.",
            Self::B => {
                "An attack needs a second weakness, or users suffer where the specification protects them."
            }
            Self::C => "An attack is open, or could not be ruled out.",
            Self::F => "An account was taken over; the evidence shows how.",
        }
    }

    /// Whether the grade is good enough for an exit status of 0.
    pub fn is_good(self) -> bool {
        self >= Self::A
    }
}

impl Serialize for Grade {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}
