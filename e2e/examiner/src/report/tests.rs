//! Reports of made-up results: of failures, of hostile texts, of known failures.

mod formats;
mod grades;

use super::Report;
use crate::app::Flow;
use crate::catalogue::{self, Check, Effect, Severity};
use crate::examination::CheckResult;
use crate::grade::Grade;
use crate::learn::PreflightStep;
use crate::transcript::TranscriptLine;
use crate::verdict::Verdict;

/// A check of the catalogue with this weight.
fn check_with(severity: Severity, if_broken: Effect) -> Check {
    Check {
        severity,
        if_broken,
        ..catalogue::checks()[0].clone()
    }
}

fn check(id: &str) -> &'static Check {
    let mut checks = catalogue::checks().iter();
    checks
        .find(|it| it.id == id)
        .expect("a check of the catalogue")
}

fn result(check: &'static Check, verdict: Verdict) -> CheckResult {
    CheckResult {
        check,
        verdict,
        actual: format!("The observation of {}.", check.id),
        flow: None,
        is_takeover: false,
        is_server_error: false,
        evidence: vec![line("GET / \u{2192} 200")],
    }
}

fn line(what: &str) -> TranscriptLine {
    TranscriptLine {
        at: 12,
        from: "browser A".to_owned(),
        to: "app".to_owned(),
        what: what.to_owned(),
        is_wrong: false,
    }
}

/// A report of an app that is started by `python app.py`.
fn report(results: Vec<CheckResult>) -> Report {
    let report = Report {
        target: "http://localhost:5000/".to_owned(),
        flow: "both",
        grade: Grade::of(&results),
        preflight: vec![PreflightStep {
            step: "reachable",
            says: "it answers".to_owned(),
        }],
        results,
        expected: Vec::new(),
        good: vec![(Flow::Clean, vec![line("GET /callback \u{2192} 303 to /")])],
        command: vec!["python".to_owned(), "app.py".to_owned()],
        flags: Vec::new(),
    };
    report.printable()
}

pub(crate) fn report_of(verdicts: &[(&str, Verdict)]) -> Report {
    let results = verdicts
        .iter()
        .map(|(id, verdict)| result(check(id), *verdict));
    report(results.collect())
}
