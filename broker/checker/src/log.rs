//! Judges the JSON logs of brokers: does the [model](crate::model) explain every line?
//!
//! The lines of the audit log are grouped by login, and each login is judged as one
//! [history](crate::history) when nothing can happen to it any more. So the memory is that of
//! the logins under way. A login without an explanation breaks a rule; if lines of it may be
//! missing, it is undecided, unless something was used twice by the lines that are there.

mod login;
mod source;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::io::{self, BufRead};
use std::mem::discriminant;

use serde::Serialize;

use crate::Violation;
use crate::model::Commit;
use login::{MAX_LINES, judge};
use source::{Entry, Gap, Source};

/// Longer than a login can change after its last line: an authorization of 600 s, a code of
/// 60 s, and a token of 900 s that is explained for 600 s more.
const LIFE_MS: i64 = 2_200_000;

/// Longer than a request takes.
const IN_FLIGHT_MS: i64 = 30_000;

/// The time in the log between two searches for logins that are over.
const SWEEP_MS: i64 = 10_000;

/// The number of logins of each verdict that a report names.
const MAX_NAMED: usize = 100;

/// The findings in some logs.
#[derive(Debug, Default, Serialize)]
pub struct Report {
    /// The lines that were read.
    pub lines: u64,
    /// Those of the audit log.
    pub audit_lines: u64,
    /// Those that are no JSON, or of the audit log without a time.
    pub unreadable_lines: u64,
    /// The logins that the lines are about.
    pub logins: u64,
    /// The values of explained logins, each used once, by kind.
    pub used_once: BTreeMap<&'static str, u64>,
    /// The number of logins of which the log does not decide, by the reason.
    pub undecided: BTreeMap<&'static str, u64>,
    /// The number of logins that break a rule.
    pub broken: u64,
    /// The first logins that are undecided, and the first that are broken.
    pub findings: Vec<Finding>,
}

/// A login that is undecided or broken.
#[derive(Debug, Serialize)]
pub struct Finding {
    /// Its id in the log.
    pub login: String,
    /// The verdict on it.
    pub verdict: Verdict,
    /// Its lines: numbers, with the file's name if there are several.
    pub lines: Vec<String>,
}

/// The verdict on a login that the model does not explain.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The log cannot decide, for this reason.
    Undecided(&'static str),
    /// A rule is broken.
    Broken(Violation),
}

/// Judges logs, each with its name and in the order of time, by clocks that differ by no more
/// than `skew_ms`.
///
/// # Errors
///
/// If a log cannot be read or goes back in time, or there is no line of an audit log.
pub fn verify<R: BufRead>(logs: Vec<(String, R)>, skew_ms: i64) -> io::Result<Report> {
    let mut verifier = Verifier {
        skew_ms,
        ..Verifier::default()
    };
    let is_one = logs.len() == 1;
    let mut sources = Vec::new();
    for (name, reader) in logs {
        let name = if is_one { String::new() } else { name + ":" };
        let mut source = Source::new(name, reader);
        verifier.advance(&mut source)?;
        sources.push(source);
    }
    let under_way = |it: &&mut Source<R>| it.next_ms().is_some();
    while let Some(earliest) = sources
        .iter_mut()
        .filter(under_way)
        .min_by_key(|it| it.next_ms())
    {
        verifier.advance(earliest)?;
    }
    verifier.sweep(i64::MAX);
    match verifier.report.audit_lines {
        0 => Err(io::Error::other(
            "it has no line of an audit log in JSON, with at_ms",
        )),
        _ => Ok(verifier.report),
    }
}

/// The logins under way.
#[derive(Default)]
struct Verifier {
    skew_ms: i64,
    live: HashMap<String, Vec<Entry>>,
    gaps: Vec<Gap>,
    /// The time of the latest line.
    now_ms: i64,
    report: Report,
}

impl Verifier {
    /// Takes the next line of a log, and the gap after it.
    fn advance<R: BufRead>(&mut self, source: &mut Source<R>) -> io::Result<()> {
        let (entry, gap) = source.advance(&mut self.report)?;
        self.gaps.extend(gap);
        entry.map_or(Ok(()), |entry| self.take(entry))
    }

    fn take(&mut self, entry: Entry) -> io::Result<()> {
        let is_later = entry.at_ms / SWEEP_MS > self.now_ms / SWEEP_MS;
        self.now_ms = self.now_ms.max(entry.at_ms);
        if entry.at_ms < self.now_ms - LIFE_MS {
            return Err(io::Error::other(format!(
                "line {} is half an hour older than one before it: give the log of each broker \
                 as a file of its own",
                entry.line
            )));
        }
        if is_later {
            self.sweep(self.now_ms - LIFE_MS);
        }
        if entry.login.is_empty() {
            // It may be of any login.
            self.gaps.extend(entry.gap());
            return Ok(());
        }
        let lines = self.live.entry(entry.login.clone()).or_default();
        // Of polls the first and the last say what the others say.
        if let [.., last_but_one, last] = &lines[..]
            && entry.repeats(last)
            && entry.repeats(last_but_one)
        {
            lines.pop();
        }
        if lines.len() <= MAX_LINES {
            lines.push(entry);
        }
        Ok(())
    }

    /// Judges the logins whose last line is older than this.
    fn sweep(&mut self, before_ms: i64) {
        let is_over = |lines: &[Entry]| lines.last().is_some_and(|it| it.at_ms < before_ms);
        let over = self.live.extract_if(|_, lines| is_over(lines));
        let mut over: Vec<_> = over.collect();
        over.sort_by_key(|(_, lines)| lines[0].at_ms);
        for (login, mut lines) in over {
            lines.sort_by_key(|it| it.at_ms);
            let judged = judge(&lines, &self.gaps, self.skew_ms);
            self.report.add(login, &lines, judged);
        }
        self.gaps.retain(|it| it.until_ms >= before_ms - LIFE_MS);
    }
}

impl Report {
    fn add(&mut self, login: String, lines: &[Entry], judged: Result<(), Verdict>) {
        self.logins += 1;
        let Err(verdict) = judged else {
            return self.count(lines);
        };
        match &verdict {
            Verdict::Undecided(why) => *self.undecided.entry(why).or_default() += 1,
            Verdict::Broken(_) => self.broken += 1,
        }
        let is_alike = |it: &&Finding| discriminant(&it.verdict) == discriminant(&verdict);
        if self.findings.iter().filter(is_alike).count() < MAX_NAMED {
            let lines = lines.iter().map(|it| it.line.clone()).collect();
            self.findings.push(Finding {
                login,
                verdict,
                lines,
            });
        }
    }

    fn count(&mut self, lines: &[Entry]) {
        for (commit, kind) in KINDS {
            let uses = lines.iter().filter(|it| it.has(commit)).count();
            // The owner binds a login at each visit.
            let used = if commit == Commit::Bound {
                uses.min(1)
            } else {
                uses
            };
            *self.used_once.entry(kind).or_default() += used as u64;
        }
    }
}

/// The values that are used once, each with the step that uses it.
const KINDS: [(Commit, &str); 6] = [
    (Commit::Opened, "session keys"),
    (Commit::Bound, "browser bindings"),
    (Commit::UpstreamLoginConsumed, "upstream logins"),
    (Commit::ResultConsumed, "results"),
    (Commit::CodeRedeemed, "codes"),
    (Commit::TokenRevoked, "tokens ended"),
];

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (logins, audit_lines, lines) = (self.logins, self.audit_lines, self.lines);
        writeln!(f, "{logins:>9} logins, in {audit_lines} of {lines} lines")?;
        writeln!(f, "{:>9} lines that cannot be read", self.unreadable_lines)?;
        for (kind, uses) in &self.used_once {
            writeln!(f, "{uses:>9} {kind}, each used once")?;
        }
        for (why, logins) in &self.undecided {
            writeln!(f, "{logins:>9} logins undecided: {why}")?;
        }
        writeln!(f, "{:>9} logins break a rule", self.broken)?;
        for it in &self.findings {
            let lines = it.lines.join(" ");
            writeln!(f, "\nlogin {}, {}\n  lines {lines}", it.login, it.verdict)?;
        }
        Ok(())
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Undecided(why) => write!(f, "undecided: {why}"),
            Self::Broken(violation) => write!(f, "BROKEN: {violation}"),
        }
    }
}
