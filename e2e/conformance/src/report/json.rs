//! The report for programs.

use serde_json::{Value, json};

use super::results::ConformanceReport;
use crate::VERSION;
use crate::verdict::RequirementResult;

pub(super) fn render(report: &ConformanceReport) -> String {
    let requirements: Vec<_> = report.results.iter().map(requirement).collect();
    let counts: serde_json::Map<_, _> = report
        .counts()
        .into_iter()
        .map(|(label, count)| (label.to_owned(), count.into()))
        .collect();
    let report = json!({
        "version": VERSION,
        "broker": report.broker,
        "requests": report.requests,
        "counts": counts,
        "troubles": report.harness_errors,
        "requirements": requirements,
    });
    format!("{report:#}\n")
}

fn requirement(result: &RequirementResult) -> Value {
    let requirement = result.requirement;
    let mut members = json!({
        "id": requirement.id(),
        "source": requirement.law().to_string(),
        "sentence": requirement.sentence(),
        "verdict": result.verdict.label(),
    });
    if !result.is_pass() {
        members["why"] = result.verdict.reason().into();
    }
    if let Some(evidence) = &result.evidence {
        members["sent"] = evidence.sent.as_str().into();
        members["came"] = evidence.received.as_str().into();
    }
    members
}
