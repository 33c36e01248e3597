//! The report as JSON, schema 1.

use serde::Serialize;

use super::Report;
use crate::catalogue::{Fix, Severity};
use crate::grade::Grade;
use crate::learn::PreflightStep;
use crate::transcript::TranscriptLine;
use crate::verdict::Verdict;

#[derive(Serialize)]
struct JsonReport<'a> {
    schema: u8,
    target: &'a str,
    flow: &'a str,
    grade: Grade,
    checks: Vec<JsonCheck<'a>>,
    preflight: &'a [PreflightStep],
}

#[derive(Serialize)]
struct JsonCheck<'a> {
    id: &'a str,
    title: &'a str,
    severity: Severity,
    verdict: Verdict,
    expected: &'a str,
    actual: &'a str,
    consequence: String,
    fix: &'a Fix,
    law: &'a [String],
    evidence: &'a [TranscriptLine],
    repeat: String,
}

impl Report {
    /// The report as JSON, with a newline at its end.
    pub fn json(&self) -> String {
        let checks = self.results.iter().map(|result| JsonCheck {
            id: &result.check.id,
            title: &result.check.title,
            severity: result.check.severity,
            verdict: result.verdict,
            expected: &result.check.expected,
            actual: &result.actual,
            consequence: result.consequence(),
            fix: &result.check.fix,
            law: &result.check.law,
            evidence: &result.evidence,
            repeat: self.repeat(&result.check.id),
        });
        let report = JsonReport {
            schema: 1,
            target: &self.target,
            flow: self.flow,
            grade: self.grade,
            checks: checks.collect(),
            preflight: &self.preflight,
        };
        serde_json::to_string_pretty(&report)
            .map_or_else(|error| error.to_string(), |text| text + "\n")
    }
}
