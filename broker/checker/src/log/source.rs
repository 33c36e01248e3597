//! The lines of one log.

use std::fmt;
use std::io::{self, BufRead, Split};

use serde::Deserialize;
use serde_json::Value;

use super::Report;
use crate::model::{Commit, Commits};

/// A line of the audit log: the fields that tell something about a login.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Entry {
    /// The number of the line, after the name of the log if there are several.
    #[serde(skip)]
    pub(super) line: String,
    pub(super) at_ms: i64,
    pub(super) took_ms: i64,
    pub(super) to: String,
    pub(super) operation: String,
    pub(super) status: u16,
    pub(super) project: String,
    pub(super) login: String,
    pub(super) provenance: String,
    pub(super) rule: String,
    pub(super) steps: String,
}

/// A time of which lines may be missing.
#[derive(Debug, Clone, Copy)]
pub(super) struct Gap {
    pub(super) from_ms: i64,
    pub(super) until_ms: i64,
    /// The reason.
    pub(super) why: &'static str,
    /// Whether the requests of the missing lines may have been answered: a broker writes a line
    /// before its answer leaves, so one that was killed did not answer them.
    pub(super) is_answered: bool,
}

impl Entry {
    /// The steps that were committed; none, if they are not in the order of a login.
    pub(super) fn commits(&self) -> Option<Commits> {
        let mut commits = Commits::default();
        let mut in_order = Commit::ALL.iter().copied();
        for step in self.steps.split_whitespace() {
            commits.add(in_order.find(|it| it.name() == step)?);
        }
        Some(commits)
    }

    pub(super) fn has(&self, commit: Commit) -> bool {
        self.steps.split(' ').any(|step| step == commit.name())
    }

    /// Whether a code of a provider was exchanged.
    pub(super) fn is_exchange(&self) -> bool {
        self.operation == "POST token"
    }

    /// Whether it differs from `other` in time alone, and neither changed anything.
    pub(super) fn repeats(&self, other: &Self) -> bool {
        let said = |it: &Self| (it.operation.clone(), it.status, it.rule.clone());
        let is_idle = |it: &Self| it.steps.is_empty() && !it.is_exchange();
        is_idle(self) && is_idle(other) && said(self) == said(other)
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let said = format!("{} {}", self.steps, self.rule);
        let (line, operation, status) = (&self.line, &self.operation, self.status);
        write!(f, "line {line}: {operation} {status} {}", said.trim())
    }
}

/// One log, in the order of time.
pub(super) struct Source<R> {
    /// The name before the numbers of its lines.
    name: String,
    lines: Split<R>,
    read: u64,
    next: Option<Entry>,
}

impl<R: BufRead> Source<R> {
    /// A log at its beginning, before it was [advanced](Self::advance) to its first line.
    pub(super) fn new(name: String, reader: R) -> Self {
        Self {
            name,
            lines: reader.split(b'\n'),
            read: 0,
            next: None,
        }
    }

    /// The time of its next line; none at the end.
    pub(super) fn next_ms(&self) -> Option<i64> {
        self.next.as_ref().map(|it| it.at_ms)
    }

    /// Takes its next line of the audit log, and reads on to the one after that. Returns it with
    /// the gap between the two.
    pub(super) fn advance(
        &mut self,
        report: &mut Report,
    ) -> io::Result<(Option<Entry>, Option<Gap>)> {
        let taken = self.next.take();
        let mut gap = Gap {
            from_ms: taken.as_ref().map_or(0, |it| it.at_ms),
            until_ms: i64::MAX,
            why: "its beginning may be missing",
            is_answered: true,
        };
        let mut has_gap = self.read == 0;
        while let Some(line) = self.lines.next().transpose()? {
            self.read += 1;
            report.lines += 1;
            let line: Value = serde_json::from_slice(&line).unwrap_or_default();
            let (target, fields) = (&line["target"], &line["fields"]);
            let message = fields["message"].as_str().unwrap_or_default();
            let entry = Entry::deserialize(fields).unwrap_or_default();
            if target == "audit" && entry.at_ms > 0 {
                report.audit_lines += 1;
                gap.until_ms = entry.at_ms;
                let line = format!("{}{}", self.name, self.read);
                self.next = Some(Entry { line, ..entry });
                return Ok((taken, has_gap.then_some(gap)));
            }
            if target == "audit" || target.is_null() {
                report.unreadable_lines += 1;
                (gap.why, gap.is_answered, has_gap) = ("a line cannot be read", true, true);
            } else if message.starts_with("Serving") {
                // The broker before it may have been killed.
                (gap.why, gap.is_answered, has_gap) = ("a broker started meanwhile", false, true);
            }
        }
        (gap.why, gap.is_answered) = ("the log ends", false);
        Ok((taken, Some(gap)))
    }
}
