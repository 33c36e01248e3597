//! All verdicts of a run, and what they come to.

mod json;
mod junit;
mod table;

use super::verdict::{Finding, Verdict};

/// All verdicts of a run. There is no secret in it.
#[derive(Debug, Clone)]
pub struct Report {
    /// Who was tested.
    pub broker: String,
    /// How many requests were sent to it, and to where it sent the browser.
    pub requests: usize,
    /// One for each requirement, in their order.
    pub findings: Vec<Finding>,
    /// What got in the way.
    pub troubles: Vec<String>,
}

/// What a run comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// No requirement is broken.
    Fine,
    /// At least one is.
    Broken,
    /// None is known to be, but there was trouble.
    Troubled,
}

impl Report {
    /// What it comes to.
    pub fn outcome(&self) -> Outcome {
        let any = |word| self.findings.iter().any(|it| it.verdict.word() == word);
        if any("FAIL") {
            Outcome::Broken
        } else if any("HARNESS") || !self.troubles.is_empty() {
            Outcome::Troubled
        } else {
            Outcome::Fine
        }
    }

    /// The verdicts with how many requirements have each.
    pub fn counts(&self) -> Vec<(&'static str, usize)> {
        ["PASS", "FAIL", "UNSPECIFIED", "SKIPPED", "HARNESS"]
            .into_iter()
            .map(|word| {
                let has_it = |it: &&Finding| it.verdict.word() == word;
                (word, self.findings.iter().filter(has_it).count())
            })
            .collect()
    }

    /// For a person.
    pub fn table(&self) -> String {
        table::of(self)
    }

    /// For a program.
    pub fn json(&self) -> String {
        json::of(self)
    }

    /// For a build server.
    pub fn junit(&self) -> String {
        junit::of(self)
    }
}

impl Finding {
    /// Whether a person should read more than its word.
    fn is_telling(&self) -> bool {
        self.verdict != Verdict::Pass
    }
}
