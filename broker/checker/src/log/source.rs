//! The lines of one log.

use std::fmt;
use std::io::{self, BufRead, Read as _};

use serde::Deserialize;
use serde_json::Value;

use super::Report;
use crate::model::{Commit, Commits};

/// A longer line is none of a broker.
const MAX_LINE_BYTES: u64 = 1 << 20;

/// The reason of a gap before which a broker may have been killed.
const RESTARTED: &str = "a broker started meanwhile";

/// A line of the audit log: the fields that tell something about a login.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Entry {
    /// The number of the line, after the name of the log if there are several.
    #[serde(skip)]
    pub(super) line: String,
    pub(super) at_ms: i64,
    pub(super) took_ms: i64,
    pub(super) request_id: String,
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
    /// Whether the missing requests may have been answered: a line comes before its answer.
    pub(super) is_answered: bool,
    /// The reason.
    pub(super) why: &'static str,
}

impl Entry {
    /// The steps that were committed; none, if they are not in the order of a login.
    pub(super) fn commits(&self) -> Option<Commits> {
        let mut commits = Commits::default();
        let mut in_order = Commit::ALL.into_iter();
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

    /// Whether neither it nor `other` committed anything, and they differ in time alone.
    pub(super) fn repeats(&self, other: &Self) -> bool {
        let said = |it: &Self| {
            (
                it.operation.clone(),
                it.status,
                it.rule.clone(),
                it.steps.clone(),
            )
        };
        self.steps.is_empty() && !self.is_exchange() && said(self) == said(other)
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            line,
            operation,
            status,
            steps,
            rule,
            ..
        } = self;
        let said = format!("{steps} {rule}");
        write!(f, "line {line}: {operation} {status} {}", said.trim())
    }
}

/// One log, in the order of time.
pub(super) struct Source<R> {
    name: String,
    reader: R,
    lines: u64,
    pub(super) next: Option<Entry>,
    /// The time of the line before the next, and why lines in between may be missing.
    last_ms: i64,
    missing: Option<&'static str>,
}

impl<R: BufRead> Source<R> {
    /// A log at its beginning.
    pub(super) fn new(name: String, reader: R) -> Self {
        let missing = Some("its beginning may be missing");
        Self {
            name,
            reader,
            lines: 0,
            next: None,
            last_ms: 0,
            missing,
        }
    }

    /// Takes the next line, and the gap before it.
    pub(super) fn take(&mut self) -> Option<(Entry, Option<Gap>)> {
        let entry = self.next.take()?;
        let (from_ms, until_ms) = (self.last_ms, entry.at_ms);
        self.last_ms = entry.at_ms;
        let gap = self.missing.take().map(|why| Gap {
            from_ms,
            until_ms,
            is_answered: why != RESTARTED,
            why,
        });
        Some((entry, gap))
    }

    /// Reads on to the next line of the audit log. At the end, the gap after it.
    pub(super) fn advance(&mut self, report: &mut Report) -> io::Result<Option<Gap>> {
        loop {
            let mut bytes = Vec::new();
            let mut reader = (&mut self.reader).take(MAX_LINE_BYTES);
            if reader.read_until(b'\n', &mut bytes)? == 0 {
                let (from_ms, until_ms) = (self.last_ms, self.last_ms);
                return Ok(Some(Gap {
                    from_ms,
                    until_ms,
                    is_answered: false,
                    why: "the log ends",
                }));
            }
            self.lines += 1;
            report.lines += 1;
            let line: Value = serde_json::from_slice(&bytes).unwrap_or_default();
            let entry = Entry::deserialize(&line["fields"]).unwrap_or_default();
            match (line["target"].as_str(), line["fields"]["message"].as_str()) {
                (Some("audit"), _) if entry.at_ms > 0 => {
                    report.audit_lines += 1;
                    let line = format!("{}{}", self.name, self.lines);
                    self.next = Some(Entry { line, ..entry });
                    return Ok(None);
                }
                (Some("audit") | None, _) => {
                    report.unreadable_lines += 1;
                    self.missing = Some("a line cannot be read");
                }
                (_, Some(message)) if message.starts_with("Serving") => {
                    self.missing = Some(RESTARTED);
                }
                _ => {}
            }
        }
    }
}
