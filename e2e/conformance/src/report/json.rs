//! The report for programs.

use serde_json::{Value, json};

use super::Report;
use crate::VERSION;
use crate::verdict::Finding;

pub(super) fn of(report: &Report) -> String {
    let findings: Vec<_> = report.findings.iter().map(finding).collect();
    let counts: serde_json::Map<_, _> = report
        .counts()
        .into_iter()
        .map(|(word, count)| (word.to_owned(), count.into()))
        .collect();
    let report = json!({
        "version": VERSION,
        "broker": report.broker,
        "requests": report.requests,
        "counts": counts,
        "troubles": report.troubles,
        "requirements": findings,
    });
    format!("{report:#}\n")
}

fn finding(finding: &Finding) -> Value {
    let requirement = finding.requirement;
    let mut told = json!({
        "id": requirement.id(),
        "source": requirement.law().to_string(),
        "sentence": requirement.sentence(),
        "verdict": finding.verdict.word(),
    });
    if finding.is_telling() {
        told["why"] = finding.verdict.why().into();
    }
    if let Some(evidence) = &finding.evidence {
        told["sent"] = evidence.sent.as_str().into();
        told["came"] = evidence.came.as_str().into();
    }
    told
}
