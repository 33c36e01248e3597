//! A report beside an older one: what became better, what worse, what is new, and what is gone.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use super::Report;
use crate::catalogue;
use crate::transcript::printable;
use crate::verdict::Verdict;

/// A report that was printed as JSON, as far as it is compared: the grade, and the verdicts.
#[derive(Debug, Clone)]
pub struct OlderReport(String, BTreeMap<String, Verdict>);

impl OlderReport {
    /// Reads a report from a file.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, or has no report of schema 1.
    pub fn read(path: &Path) -> Result<Self, String> {
        let failed = |error: String| format!("--compare {}: {error}", path.display());
        let text = std::fs::read_to_string(path).map_err(|error| failed(error.to_string()))?;
        let report = serde_json::from_str(&text).ok();
        let report = report.and_then(|it| Self::of(&it));
        report.ok_or_else(|| failed("it is no report that --json printed".to_owned()))
    }

    fn of(report: &Value) -> Option<Self> {
        let verdict = |check: &Value| {
            let verdict = check["verdict"].as_str()?.parse().ok()?;
            Some((printable(check["id"].as_str()?), verdict))
        };
        let checks = report["checks"].as_array()?.iter();
        let verdicts: Option<_> = checks.map(verdict).collect();
        let grade = report["grade"].as_str().unwrap_or("none");
        (report["schema"] == 1).then_some(Self(printable(grade), verdicts?))
    }
}

/// The difference of two reports.
#[derive(Debug, Clone)]
pub struct Comparison {
    pub(super) text: String,
    pub(super) is_worse: bool,
}

/// The worth of a verdict for an app: red, nothing known, or a pass.
fn worth(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Fail | Verdict::NotTestable => 0,
        Verdict::NotTested | Verdict::Harness => 1,
        Verdict::Pass | Verdict::NotApplicable => 2,
    }
}

impl Comparison {
    /// Compares the checks that both reports have. One that only the older has is gone if the
    /// catalogue has it no more; else it was left out.
    pub(super) fn of(OlderReport(grade, older): &OlderReport, newer: &Report) -> Self {
        let row = |kind: &str, id: &str, says: &str| format!("\n  {kind:<7} {id:<27} {says}");
        let [mut worse, mut better, mut other] = [const { Vec::new() }; 3];
        for result in &newer.results {
            let (id, now) = (&result.check.id, result.verdict);
            let Some(before) = older.get(id) else {
                other.push(row("new", id, &now.to_string()));
                continue;
            };
            let says = format!("{before}, now {now}");
            match worth(now).cmp(&worth(*before)) {
                Ordering::Less => worse.push(row("worse", id, &says)),
                Ordering::Greater => better.push(row("better", id, &says)),
                Ordering::Equal => {}
            }
        }
        for (id, before) in older {
            if catalogue::check(id).is_none() {
                other.push(row("gone", id, &before.to_string()));
            }
        }
        let is_worse = !worse.is_empty();
        let rows = [worse, better, other].concat().concat();
        let now = newer.grade_or("none");
        Self {
            text: format!("Compared with the older report: grade {grade} before, {now} now.{rows}"),
            is_worse,
        }
    }
}
