//! The verdicts of a run, and the conclusion from them.

use crate::verdict::{RequirementResult, Verdict};

/// The verdicts of a run, without secrets.
#[derive(Debug, Clone)]
pub struct ConformanceReport {
    /// The address of the broker under test.
    pub broker: String,
    /// The number of requests to the broker, and to where it redirected the browser.
    pub requests: usize,
    /// One for each requirement, in their order.
    pub results: Vec<RequirementResult>,
    /// The errors of the harness.
    pub harness_errors: Vec<String>,
}

/// The conclusion from a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conclusion {
    /// No requirement is broken.
    Conformant,
    /// At least one requirement is broken.
    NonConformant,
    /// None is known to be broken, but the harness had errors.
    Inconclusive,
}

impl ConformanceReport {
    /// The conclusion.
    pub fn conclusion(&self) -> Conclusion {
        let any = |label| self.count(label) > 0;
        if any("FAIL") {
            Conclusion::NonConformant
        } else if any("HARNESS") || !self.harness_errors.is_empty() {
            Conclusion::Inconclusive
        } else {
            Conclusion::Conformant
        }
    }

    /// Each label with the number of requirements that have it.
    pub fn counts(&self) -> Vec<(&'static str, usize)> {
        ["PASS", "FAIL", "UNSPECIFIED", "SKIPPED", "HARNESS"]
            .into_iter()
            .map(|label| (label, self.count(label)))
            .collect()
    }

    pub(super) fn count(&self, label: &str) -> usize {
        let has_it = |it: &&RequirementResult| it.verdict.label() == label;
        self.results.iter().filter(has_it).count()
    }
}

impl RequirementResult {
    pub(super) fn is_pass(&self) -> bool {
        self.verdict == Verdict::Pass
    }
}
