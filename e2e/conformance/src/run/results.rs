//! The verdicts so far: one for each requirement that was tested, and the reasons for
//! those that were not.

use std::collections::BTreeMap;

use crate::expect::Check;
use crate::requirement::{Law, Requirement};
use crate::verdict::{Evidence, RequirementResult, Verdict};

/// The verdicts so far.
#[derive(Default)]
pub(super) struct Results {
    tested: BTreeMap<Requirement, RequirementResult>,
    not_tested: BTreeMap<Requirement, Verdict>,
    harness_errors: Vec<String>,
}

impl Results {
    /// Records a check. A choice of this kit is never broken, only made otherwise.
    pub(super) fn record(&mut self, requirement: Requirement, evidence: Evidence, check: Check) {
        let verdict = match (check, requirement.law()) {
            (Ok(()), _) => Verdict::Pass,
            (Err(reason), Law::Spec(_)) => Verdict::Fail(reason),
            (Err(reason), Law::KitChoice) => Verdict::Unspecified(reason),
        };
        let result = RequirementResult {
            requirement,
            verdict: verdict.clone(),
            evidence: Some(evidence.clone()),
        };
        self.tested
            .entry(requirement)
            .and_modify(|known| known.merge(verdict, evidence))
            .or_insert(result);
    }

    /// Records why requirements are not tested; the first reason stays.
    pub(super) fn skip(&mut self, requirements: &[Requirement], reason: &str) {
        for requirement in requirements {
            let verdict = Verdict::Skipped(reason.to_owned());
            self.not_tested.entry(*requirement).or_insert(verdict);
        }
    }

    /// Records an error of the harness that kept these requirements from a test.
    pub(super) fn fail_harness(&mut self, requirements: &[Requirement], error: String) {
        for requirement in requirements {
            let verdict = Verdict::Harness(error.clone());
            self.not_tested.insert(*requirement, verdict);
        }
        if !self.harness_errors.contains(&error) {
            self.harness_errors.push(error);
        }
    }

    /// A result for each requirement, in their order, and the errors of the harness.
    pub(super) fn into_parts(mut self) -> (Vec<RequirementResult>, Vec<String>) {
        let mut result = |requirement: Requirement| {
            let untested = self.not_tested.remove(&requirement);
            let tested = self.tested.remove(&requirement);
            tested.unwrap_or_else(|| RequirementResult {
                requirement,
                verdict: untested
                    .unwrap_or_else(|| Verdict::Skipped("no scenario got there".to_owned())),
                evidence: None,
            })
        };
        let results = Requirement::ALL.iter().map(|it| result(*it)).collect();
        (results, self.harness_errors)
    }
}
