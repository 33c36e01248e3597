//! The report for readers: a line for each requirement, and below those that did not
//! pass the reason and the exchange.

use std::fmt::Write as _;

use super::results::ConformanceReport;
use crate::VERSION;
use crate::verdict::RequirementResult;

pub(super) fn render(report: &ConformanceReport) -> String {
    let mut table = String::new();
    for result in &report.results {
        let requirement = result.requirement;
        let _ = writeln!(
            table,
            "{:<12} {:<28} {}",
            result.verdict.label(),
            requirement.id(),
            requirement.sentence(),
        );
        if !result.is_pass() {
            write_details(&mut table, result);
        }
    }
    let counts: Vec<_> = report
        .counts()
        .into_iter()
        .map(|(label, count)| format!("{count} {label}"))
        .collect();
    let _ = writeln!(
        table,
        "\n{} against the contract {VERSION}, in {} requests: {}",
        report.broker,
        report.requests,
        counts.join(", ")
    );
    for error in &report.harness_errors {
        let _ = writeln!(table, "Harness error: {error}");
    }
    table
}

fn write_details(table: &mut String, result: &RequirementResult) {
    let mut line = |label: &str, text: &str| {
        let _ = writeln!(table, "             {label:<9}{text}");
    };
    line("law", &result.requirement.law().to_string());
    line("reason", result.verdict.reason());
    if result.verdict.is_deviation() {
        line("advice", result.requirement.advice());
    }
    if let Some(evidence) = &result.evidence {
        line("sent", &evidence.sent);
        line("received", &evidence.received);
    }
}
