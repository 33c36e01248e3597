//! A report beside an older one: what became better, what worse, what is new, and what is gone.

use std::cmp::Ordering;
use std::fmt::Write as _;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::Report;
use crate::catalogue;
use crate::verdict::Verdict;

/// A report that was printed as JSON, as far as it is compared.
#[derive(Debug, Clone, Deserialize)]
pub struct OlderReport {
    schema: u8,
    grade: String,
    checks: Vec<OlderCheck>,
}

#[derive(Debug, Clone, Deserialize)]
struct OlderCheck {
    id: String,
    verdict: String,
}

/// The difference of two reports. The fields are the members of its JSON.
#[derive(Debug, Clone, Serialize)]
pub struct Comparison {
    /// The older grade.
    grade: String,
    changes: Vec<Change>,
}

#[derive(Debug, Clone, Serialize)]
struct Change {
    /// One of [`KINDS`].
    kind: &'static str,
    id: String,
    before: Option<String>,
    now: Option<&'static str>,
}

/// The kinds of changes, in the order in which they are shown.
const KINDS: [&str; 4] = ["worse", "better", "new", "gone"];

/// The worth of a verdict for an app: red, nothing known, or a pass. None of another text.
fn worth(label: &str) -> Option<u8> {
    let verdict = Verdict::ALL.into_iter().find(|it| it.label() == label)?;
    Some(match verdict {
        Verdict::Fail | Verdict::NotTestable => 0,
        Verdict::NotTested | Verdict::Harness => 1,
        Verdict::Pass | Verdict::NotApplicable => 2,
    })
}

impl OlderReport {
    /// Reads a report from a file.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, or has no report of schema 1.
    pub fn read(path: &Path) -> Result<Self, String> {
        let failed = |error: String| format!("--compare {}: {error}", path.display());
        let text = std::fs::read_to_string(path).map_err(|error| failed(error.to_string()))?;
        let report: Option<Self> = serde_json::from_str(&text).ok();
        let report = report.filter(|it| it.schema == 1 && it.checks.iter().all(OlderCheck::is_one));
        report.ok_or_else(|| failed("it is no report that --json printed".to_owned()))
    }
}

impl OlderCheck {
    fn is_one(&self) -> bool {
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-';
        self.id.chars().all(is_part) && worth(&self.verdict).is_some()
    }
}

impl Comparison {
    /// Compares the checks that both reports have. One that only the older has is gone if the
    /// catalogue has it no more; else it was left out.
    pub(super) fn of(older: &OlderReport, newer: &Report) -> Self {
        let results = newer.results.iter().filter_map(|result| {
            let (id, now) = (&result.check.id, result.verdict.label());
            let before = older.checks.iter().find(|it| it.id == *id);
            let kind = match before.map(|it| worth(now).cmp(&worth(&it.verdict))) {
                Some(Ordering::Less) => "worse",
                Some(Ordering::Greater) => "better",
                None => "new",
                Some(Ordering::Equal) => return None,
            };
            let before = before.map(|it| it.verdict.clone());
            Some(Change {
                kind,
                id: id.clone(),
                before,
                now: Some(now),
            })
        });
        let gone = older
            .checks
            .iter()
            .filter(|it| catalogue::check(&it.id).is_none());
        let gone = gone.map(|it| Change {
            kind: "gone",
            id: it.id.clone(),
            before: Some(it.verdict.clone()),
            now: None,
        });
        let mut changes: Vec<_> = results.chain(gone).collect();
        changes.sort_by_key(|it| KINDS.iter().position(|kind| *kind == it.kind));
        Self {
            grade: super::printable(&older.grade),
            changes,
        }
    }

    /// Whether something became worse.
    pub(super) fn is_worse(&self) -> bool {
        self.changes.iter().any(|it| it.kind == "worse")
    }

    /// The changes as text.
    pub(super) fn text(&self, newer: &Report) -> String {
        let (before, now) = (&self.grade, newer.grade.as_str());
        let mut text =
            format!("Compared with the older report: grade {before} before, {now} now.\n");
        for Change {
            kind,
            id,
            before,
            now,
        } in &self.changes
        {
            let verdicts: Vec<_> = before.as_deref().into_iter().chain(*now).collect();
            let _ = writeln!(text, "  {kind:<7} {id:<27} {}", verdicts.join(", now "));
        }
        text
    }
}
