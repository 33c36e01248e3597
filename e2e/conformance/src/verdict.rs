//! What becomes of a requirement.

use serde::Serialize;

use super::mask::Mask;
use super::requirement::Requirement;

/// What became of one requirement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It was tried and held, each time.
    Pass,
    /// The broker broke it; what was expected.
    Fail(String),
    /// The specification is silent and this broker chose otherwise; how.
    Unspecified(String),
    /// It was not tried; why.
    Skipped(String),
    /// It could not be tried, by no fault that is known of the broker; why.
    Harness(String),
}

impl Verdict {
    /// The word for it.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Pass => "PASS",
            Self::Fail(_) => "FAIL",
            Self::Unspecified(_) => "UNSPECIFIED",
            Self::Skipped(_) => "SKIPPED",
            Self::Harness(_) => "HARNESS",
        }
    }

    /// What is to be said besides the word.
    pub fn why(&self) -> &str {
        match self {
            Self::Pass => "",
            Self::Fail(why) | Self::Unspecified(why) | Self::Skipped(why) | Self::Harness(why) => {
                why
            }
        }
    }

    /// Whether the broker differs from the requirement.
    pub(crate) fn is_about_the_broker(&self) -> bool {
        matches!(self, Self::Fail(_) | Self::Unspecified(_))
    }

    /// A requirement that is tried several times keeps its gravest verdict.
    fn gravity(&self) -> u8 {
        match self {
            Self::Skipped(_) => 0,
            Self::Pass => 1,
            Self::Unspecified(_) => 2,
            Self::Harness(_) => 3,
            Self::Fail(_) => 4,
        }
    }
}

/// What was sent and what came back, without secrets.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Evidence {
    /// The request.
    pub sent: String,
    /// The answer.
    pub came: String,
}

/// A requirement with its verdict and the exchange that decided it.
#[derive(Debug, Clone)]
pub struct Finding {
    /// Which one.
    pub requirement: Requirement,
    /// What became of it.
    pub verdict: Verdict,
    /// What decided it; nothing if it was not tried.
    pub evidence: Option<Evidence>,
}

impl Finding {
    /// Takes a further verdict into account. The first of the gravest ones stays.
    pub(crate) fn also(&mut self, verdict: Verdict, evidence: Evidence) {
        if verdict.gravity() > self.verdict.gravity() {
            self.verdict = verdict;
            self.evidence = Some(evidence);
        }
    }

    /// Without secrets.
    pub(crate) fn masked(mut self, mask: &Mask) -> Self {
        if let Some(evidence) = &mut self.evidence {
            evidence.sent = mask.apply(&evidence.sent);
            evidence.came = mask.apply(&evidence.came);
        }
        self
    }
}
