//! The table for people: a line for each requirement, and below those that did
//! not pass what was sent and what came back.

use std::fmt::Write as _;

use super::Report;
use crate::VERSION;

pub(super) fn of(report: &Report) -> String {
    let mut table = String::new();
    for finding in &report.findings {
        let requirement = finding.requirement;
        let _ = writeln!(
            table,
            "{:<12} {:<28} {}",
            finding.verdict.word(),
            requirement.id(),
            requirement.sentence(),
        );
        if !finding.is_telling() {
            continue;
        }
        let mut tell = |what: &str, text: &str| {
            let _ = writeln!(table, "             {what:<9}{text}");
        };
        tell("where", &requirement.law().to_string());
        tell("why", finding.verdict.why());
        if finding.verdict.is_about_the_broker() {
            tell("advice", requirement.advice());
        }
        if let Some(evidence) = &finding.evidence {
            tell("sent", &evidence.sent);
            tell("came", &evidence.came);
        }
    }
    let counts: Vec<_> = report
        .counts()
        .into_iter()
        .map(|(word, count)| format!("{count} {word}"))
        .collect();
    let _ = writeln!(
        table,
        "\n{} against the contract {VERSION}, in {} requests: {}",
        report.broker,
        report.requests,
        counts.join(", ")
    );
    for trouble in &report.troubles {
        let _ = writeln!(table, "Trouble: {trouble}");
    }
    table
}
