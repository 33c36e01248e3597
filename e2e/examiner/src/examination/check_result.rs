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

    pub(super) fn new(
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
