//! The verdicts on the requirements, each with its evidence, and the ways in which a run,
//! or one scenario of it, ends early.

use std::collections::BTreeMap;

use agent::control::ControlError;
use reqwest::header::{HeaderMap, RETRY_AFTER};

use super::mask::Mask;
use super::requirement::{Law, Requirement};

/// There is nothing to test; the reason, in one sentence.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{0}")]
pub struct NotTestable(pub(crate) String);

impl From<ControlError> for NotTestable {
    fn from(error: ControlError) -> Self {
        Self(error.to_string())
    }
}

/// The reason why a scenario ended early.
#[derive(Debug)]
pub(crate) enum Stop {
    /// The harness failed: no fault of the broker's is known.
    Harness(String),
    /// The broker has too much to do now, by this status; it may have named the seconds after
    /// which that changes.
    Busy(u16, Option<u64>),
    /// A step did not lead to what the next one needs.
    Blocked(String),
}

impl Stop {
    pub(crate) fn blocked(reason: &str) -> Self {
        Self::Blocked(reason.to_owned())
    }

    /// The stop of a scenario by this response, if the broker is too busy for it.
    pub(crate) fn if_busy(status: u16, headers: &HeaderMap) -> Option<Self> {
        let seconds = headers.get(RETRY_AFTER).and_then(|it| it.to_str().ok());
        let seconds = seconds.and_then(|it| it.trim().parse().ok());
        matches!(status, 429 | 502..=504).then_some(Self::Busy(status, seconds))
    }

    /// The reason, in words.
    pub(crate) fn into_reason(self) -> String {
        match self {
            Self::Busy(status, _) => format!("answered {status}: too busy, or out of order"),
            Self::Harness(reason) | Self::Blocked(reason) => reason,
        }
    }
}

impl From<ControlError> for Stop {
    fn from(error: ControlError) -> Self {
        Self::Harness(error.to_string())
    }
}

/// The verdict on one requirement. Of two the greater one counts: a test more than none, a
/// deviation more than a pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// The requirement was not tested.
    Skipped,
    /// The test failed for a reason that is no known fault of the broker's.
    Harness,
    /// The requirement was met, each time it was tested.
    Pass,
    /// The specification is silent and this broker chose otherwise.
    Unspecified,
    /// The broker broke the requirement.
    Fail,
}

impl Verdict {
    /// Every verdict, in the order of a report.
    pub(crate) const ALL: [Self; 5] = [
        Self::Pass,
        Self::Fail,
        Self::Unspecified,
        Self::Skipped,
        Self::Harness,
    ];

    /// The label in a report.
    pub fn label(self) -> &'static str {
        match self {
            Self::Pass => "PASS",
            Self::Fail => "FAIL",
            Self::Unspecified => "UNSPECIFIED",
            Self::Skipped => "SKIPPED",
            Self::Harness => "HARNESS",
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
    /// The expectation that failed, or why there was no test; empty for a pass.
    pub reason: String,
    /// The exchange that decided it; none if it was not tested.
    pub evidence: Option<Evidence>,
}

/// The verdicts so far.
#[derive(Default)]
pub(crate) struct Results {
    by_requirement: BTreeMap<Requirement, RequirementResult>,
    harness_errors: Vec<String>,
}

impl Results {
    /// Records a check. A choice of this kit is never broken, only made otherwise.
    pub(crate) fn record(
        &mut self,
        requirement: Requirement,
        evidence: Evidence,
        check: Result<(), String>,
    ) {
        let (verdict, reason) = match (check, requirement.law()) {
            (Ok(()), _) => (Verdict::Pass, String::new()),
            (Err(reason), Law::Spec(_)) => (Verdict::Fail, reason),
            (Err(reason), Law::KitChoice) => (Verdict::Unspecified, reason),
        };
        self.note(requirement, verdict, &reason, Some(evidence));
    }

    /// Records why requirements are not tested.
    pub(crate) fn skip(&mut self, requirements: &[Requirement], reason: &str) {
        for requirement in requirements {
            self.note(*requirement, Verdict::Skipped, reason, None);
        }
    }

    /// Records an error of the harness that kept these requirements from a test.
    pub(crate) fn fail_harness(&mut self, requirements: &[Requirement], error: String) {
        for requirement in requirements {
            self.note(*requirement, Verdict::Harness, &error, None);
        }
        if !self.harness_errors.contains(&error) {
            self.harness_errors.push(error);
        }
    }

    /// The first of the greatest verdicts stays.
    fn note(
        &mut self,
        requirement: Requirement,
        verdict: Verdict,
        reason: &str,
        evidence: Option<Evidence>,
    ) {
        let known = self.by_requirement.get(&requirement);
        if known.is_none_or(|known| known.verdict < verdict) {
            let result = RequirementResult {
                requirement,
                verdict,
                reason: reason.to_owned(),
                evidence,
            };
            self.by_requirement.insert(requirement, result);
        }
    }

    /// A result for each requirement, in their order, and the errors of the harness; both
    /// without secrets.
    pub(crate) fn into_parts(mut self, mask: &Mask) -> (Vec<RequirementResult>, Vec<String>) {
        self.skip(Requirement::ALL, "no scenario got there");
        let mut results: Vec<_> = self.by_requirement.into_values().collect();
        for evidence in results.iter_mut().filter_map(|it| it.evidence.as_mut()) {
            evidence.sent = mask.apply(&evidence.sent);
            evidence.received = mask.apply(&evidence.received);
        }
        let errors = self.harness_errors.iter().map(|it| mask.apply(it));
        (results, errors.collect())
    }
}
