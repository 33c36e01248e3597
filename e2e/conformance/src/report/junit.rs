//! The report for build servers: JUnit's XML. An unspecified requirement passes
//! there, with a note.

use askama::Template;

use super::results::ConformanceReport;
use crate::VERSION;
use crate::verdict::{RequirementResult, Verdict};

#[derive(Template)]
#[template(path = "junit.xml", escape = "html")]
struct Suite<'a> {
    version: &'static str,
    broker: &'a str,
    results: &'a [RequirementResult],
    failures: usize,
    errors: usize,
    skipped: usize,
}

pub(super) fn render(report: &ConformanceReport) -> String {
    let suite = Suite {
        version: VERSION,
        broker: &report.broker,
        results: &report.results,
        failures: report.count("FAIL"),
        errors: report.count("HARNESS"),
        skipped: report.count("SKIPPED"),
    };
    suite.render().expect("the template only writes strings")
}
