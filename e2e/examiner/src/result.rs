//! The result of a check, and the grade that all results have: by the attacks that are
//! open, never by points.

use serde::{Serialize, Serializer};

use crate::app::Flow;
use crate::catalogue::{Check, Effect, Severity};
use crate::transcript::TranscriptLine;
use crate::verdict::{Outcome, Verdict};

/// The observation of a check that passes.
const AS_EXPECTED: &str = "As expected.";

/// The result of one check.
#[derive(Debug, Clone)]
pub struct CheckResult {
    /// The check.
    pub check: &'static Check,
    /// The verdict; of two flows, the more severe one.
    pub verdict: Verdict,
    /// The observation.
    pub actual: String,
    /// The flow in which it was made, if the app has both.
    pub flow: Option<Flow>,
    /// Whether an attacker was seen in another person's account.
    pub is_takeover: bool,
    /// Whether an error of the server hides the rest of what the check looks for.
    pub is_server_error: bool,
    /// The exchanges of that trial.
    pub evidence: Vec<TranscriptLine>,
}

impl CheckResult {
    /// Whether a part of a check that passes was not tried.
    pub(crate) fn is_partial(&self) -> bool {
        self.verdict == Verdict::Pass && self.actual != AS_EXPECTED
    }

    /// The harm that the failure does, as far as it was seen.
    pub fn consequence(&self) -> String {
        let worst = &self.check.consequence;
        if self.is_server_error {
            return format!(
                "The app answers with an error of its own, which hides what would have happened: mend that error first, and examine again. In the worst case: {worst}"
            );
        }
        worst.clone()
    }

    pub(crate) fn new(
        check: &'static Check,
        outcome: Outcome,
        flow: Option<Flow>,
        evidence: Vec<TranscriptLine>,
    ) -> Self {
        let stop = outcome.err();
        Self {
            check,
            verdict: stop.as_ref().map_or(Verdict::Pass, |it| it.verdict),
            actual: stop
                .as_ref()
                .map_or_else(|| AS_EXPECTED.to_owned(), |it| sentence(&it.actual)),
            flow,
            is_takeover: stop.as_ref().is_some_and(|it| it.is_takeover),
            is_server_error: stop.is_some_and(|it| it.is_server_error),
            evidence,
        }
    }
}

/// The text with a capital letter and a full stop.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters
        .next()
        .map(|it| it.to_uppercase().to_string())
        .unwrap_or_default();
    let rest = letters.as_str();
    let end = if text.ends_with(['.', '!', '?']) {
        ""
    } else {
        "."
    };
    format!("{first}{rest}{end}")
}

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
