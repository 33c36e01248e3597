//! The result of a check.

use crate::app::Flow;
use crate::catalogue::Check;
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
    /// The exchanges of that trial.
    pub evidence: Vec<TranscriptLine>,
}

impl CheckResult {
    /// Whether a part of a check that passes was not tried.
    pub(crate) fn is_partial(&self) -> bool {
        self.verdict == Verdict::Pass && self.actual != AS_EXPECTED
    }

    pub(super) fn new(
        check: &'static Check,
        outcome: Outcome,
        flow: Option<Flow>,
        evidence: Vec<TranscriptLine>,
    ) -> Self {
        let (verdict, actual, is_takeover) = match outcome {
            Ok(()) => (Verdict::Pass, AS_EXPECTED.to_owned(), false),
            Err(stop) => (stop.verdict, sentence(&stop.actual), stop.is_takeover),
        };
        Self {
            check,
            verdict,
            actual,
            flow,
            is_takeover,
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
