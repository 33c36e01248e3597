//! The report as JUnit's XML, for a CI that shows tests.

use askama::Template;

use super::Report;
use crate::verdict::Verdict;

#[derive(Template)]
#[template(path = "junit.xml")]
struct JUnit<'a> {
    report: &'a Report,
    failures: usize,
    errors: usize,
    skipped: usize,
}

impl Report {
    /// The report as JUnit's XML.
    pub fn junit(&self) -> String {
        let count = |verdicts: &[Verdict]| verdicts.iter().map(|it| self.count(*it)).sum();
        let junit = JUnit {
            report: self,
            failures: count(&[Verdict::Fail, Verdict::NotTestable]),
            errors: count(&[Verdict::Harness]),
            skipped: count(&[Verdict::NotTested, Verdict::NotApplicable]),
        };
        junit.render().unwrap_or_else(|error| error.to_string())
    }
}
