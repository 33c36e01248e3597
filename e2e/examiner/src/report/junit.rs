//! The report as JUnit's XML, for a CI that shows tests.

use askama::Template;

use super::Report;
use crate::examination::CheckResult;
use crate::verdict::Verdict;

#[derive(Template)]
#[template(path = "junit.xml")]
struct JUnit<'a> {
    report: &'a Report,
    cases: Vec<(&'a CheckResult, Case)>,
}

/// The outcome of a test case: it is red if the exit status is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Case {
    Passed,
    Failed,
    /// A known failure that passes.
    UnexpectedPass,
    Error,
    Skipped,
}

impl Report {
    /// The report as JUnit's XML.
    pub fn junit(&self) -> String {
        let cases = self.results.iter().map(|it| (it, self.case(it)));
        let junit = JUnit {
            report: self,
            cases: cases.collect(),
        };
        junit.render().unwrap_or_else(|error| error.to_string())
    }

    fn case(&self, result: &CheckResult) -> Case {
        match (result.verdict, self.is_expected(result)) {
            (Verdict::Pass, false) => Case::Passed,
            (Verdict::Pass, true) => Case::UnexpectedPass,
            (Verdict::Fail | Verdict::NotTestable, false) => Case::Failed,
            (Verdict::Fail | Verdict::NotTestable, true)
            | (Verdict::NotTested | Verdict::NotApplicable, _) => Case::Skipped,
            (Verdict::Harness, _) => Case::Error,
        }
    }
}

impl JUnit<'_> {
    fn count(&self, wanted: &[Case]) -> usize {
        let cases = self.cases.iter();
        cases.filter(|(_, case)| wanted.contains(case)).count()
    }

    fn failures(&self) -> usize {
        self.count(&[Case::Failed, Case::UnexpectedPass])
    }

    fn errors(&self) -> usize {
        self.count(&[Case::Error])
    }

    fn skipped(&self) -> usize {
        self.count(&[Case::Skipped])
    }
}
