//! The report for build servers: JUnit's XML. What is unspecified passes there,
//! with a note.

use askama::Template;

use super::Report;
use crate::VERSION;
use crate::verdict::{Finding, Verdict};

#[derive(Template)]
#[template(path = "junit.xml", escape = "html")]
struct Suite<'a> {
    version: &'static str,
    broker: &'a str,
    findings: &'a [Finding],
    failures: usize,
    errors: usize,
    skipped: usize,
}

pub(super) fn of(report: &Report) -> String {
    let count = |word| {
        let of_it = report
            .findings
            .iter()
            .filter(|it| it.verdict.word() == word);
        of_it.count()
    };
    let suite = Suite {
        version: VERSION,
        broker: &report.broker,
        findings: &report.findings,
        failures: count("FAIL"),
        errors: count("HARNESS"),
        skipped: count("SKIPPED"),
    };
    suite.render().expect("the template only writes strings")
}
