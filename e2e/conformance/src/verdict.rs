//! The verdict on a requirement, and its evidence.

use super::mask::Mask;
use super::requirement::Requirement;

/// The verdict on one requirement. All but a pass carry their reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The requirement was met, each time it was tested.
    Pass,
    /// The broker broke the requirement; the expectation that failed.
    Fail(String),
    /// The specification is silent and this broker chose otherwise; the difference.
    Unspecified(String),
    /// The requirement was not tested.
    Skipped(String),
    /// The test failed for a reason that is no known fault of the broker's.
    Harness(String),
}

impl Verdict {
    /// The label in a report.
    pub fn label(&self) -> &'static str {
        match self {
            Self::Pass => "PASS",
            Self::Fail(_) => "FAIL",
            Self::Unspecified(_) => "UNSPECIFIED",
            Self::Skipped(_) => "SKIPPED",
            Self::Harness(_) => "HARNESS",
        }
    }

    /// The reason; empty for a pass.
    pub fn reason(&self) -> &str {
        match self {
            Self::Pass => "",
            Self::Fail(reason)
            | Self::Unspecified(reason)
            | Self::Skipped(reason)
            | Self::Harness(reason) => reason,
        }
    }

    /// Whether the broker differs from the requirement.
    pub(crate) fn is_deviation(&self) -> bool {
        matches!(self, Self::Fail(_) | Self::Unspecified(_))
    }

    fn severity(&self) -> u8 {
        match self {
            Self::Skipped(_) => 0,
            Self::Pass => 1,
            Self::Unspecified(_) => 2,
            Self::Harness(_) => 3,
            Self::Fail(_) => 4,
        }
    }
}

/// The exchange behind a verdict, without secrets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Evidence {
    /// The request.
    pub sent: String,
    /// The response.
    pub received: String,
}

/// A requirement with its verdict.
#[derive(Debug, Clone)]
pub struct RequirementResult {
    /// The requirement.
    pub requirement: Requirement,
    /// The verdict.
    pub verdict: Verdict,
    /// The exchange that decided it; none if it was not tested.
    pub evidence: Option<Evidence>,
}

impl RequirementResult {
    /// Takes a further verdict into account: the first of the most severe ones stays.
    pub(crate) fn merge(&mut self, verdict: Verdict, evidence: Evidence) {
        if verdict.severity() > self.verdict.severity() {
            self.verdict = verdict;
            self.evidence = Some(evidence);
        }
    }

    /// Masks the secrets in the evidence.
    pub(crate) fn masked(mut self, mask: &Mask) -> Self {
        if let Some(evidence) = &mut self.evidence {
            evidence.sent = mask.apply(&evidence.sent);
            evidence.received = mask.apply(&evidence.received);
        }
        self
    }
}
