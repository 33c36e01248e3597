//! The share of OWASP's standard that an examination tried.

use super::Report;
use crate::catalogue;
use crate::verdict::Verdict;

/// The requirements of ASVS 5.0 that apply to consumers, by their numbers.
pub(super) struct AsvsCoverage {
    /// Tried by a check that ran.
    pub(super) tried: Vec<&'static str>,
    /// Not to be seen from outside.
    pub(super) unseen: Vec<&'static str>,
    /// The number that applies.
    pub(super) applicable: usize,
}

impl Report {
    /// The share of the standard that was tried.
    pub(super) fn asvs(&self) -> AsvsCoverage {
        let requirements = catalogue::asvs();
        let is_tried = |id: &str| {
            let law = format!("ASVS {id}");
            let ran = |verdict| matches!(verdict, Verdict::Pass | Verdict::Fail);
            let mut results = self.results.iter();
            results.any(|it| ran(it.verdict) && it.check.law.contains(&law))
        };
        let tried = requirements.iter().filter(|it| is_tried(&it.id));
        let unseen = requirements.iter().filter(|it| !it.seen);
        AsvsCoverage {
            tried: tried.map(|it| it.id.as_str()).collect(),
            unseen: unseen.map(|it| it.id.as_str()).collect(),
            applicable: requirements.len(),
        }
    }
}

impl AsvsCoverage {
    /// The numbers of requirements, without their names.
    pub(super) fn counts(&self) -> String {
        format!(
            "ASVS 5.0: {} of {} requirements that apply were tried; {} cannot be seen from outside",
            self.tried.len(),
            self.applicable,
            self.unseen.len()
        )
    }

    /// The counts, and the names of what cannot be seen.
    pub(super) fn sentence(&self) -> String {
        format!("{}: {}.", self.counts(), self.unseen.join(", "))
    }
}
