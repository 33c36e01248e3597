//! One login: its lines as a history, and the verdict on it.
//!
//! A log does not name browsers. Every visit that binds a login is its owner's, or it would
//! be answered 410, and a visit that is answered 410 is a stranger's. Nor does a log say
//! which of several upstream logins, codes or tokens of a login a line is about: the search
//! tries each.

use super::source::{Entry, Gap};
use super::{IN_FLIGHT_MS, LIFE_MS, Verdict};
use crate::history::{Flow, History, LogLine, Operation, Outcome};
use crate::model::{Commit, Ending, Failure, Interval, Project, Provider, Step, Visitor};
use crate::{TOO_MANY_ORDERS, Violation, check};

/// The most lines of a login: each numbers the login or upstream login that it begins.
pub(super) const MAX_LINES: usize = 250;

const OWNER: Visitor = Visitor::Browser(1);
const STRANGER: Visitor = Visitor::Browser(2);

/// The rules of the refusals with 400 that depend on what happened to a login before. The others
/// (a malformed request, another browser's cookie) are not judged.
const JUDGED_RULES: [&str; 8] = [
    "session_key.fresh",
    "result.once",
    "result.expiry",
    "result.known",
    "code.once",
    "code.expiry",
    "upstream_login.once",
    "upstream_login.expiry",
];

/// Judges a login by its lines, which are in the order of time.
///
/// # Errors
///
/// If it is undecided or broken.
pub(super) fn judge(entries: &[Entry], gaps: &[Gap], skew_ms: i64) -> Result<(), Verdict> {
    if entries.len() > MAX_LINES {
        return Err(Verdict::Undecided("it has too many lines"));
    }
    if let Some(entry) = entries.iter().find(|it| !it.is_orderly()) {
        let violation = format!("its answer never has these steps: {entry}");
        return Err(Verdict::Broken(violation));
    }
    let login = Login::of(entries);
    let explained = check(&login.history(skew_ms));
    let Err(violation) = explained.and_then(|()| login.exchanged_once()) else {
        return Ok(());
    };
    if violation == TOO_MANY_ORDERS {
        return Err(Verdict::Undecided("its operations have too many orders"));
    }
    let gaps = login.gaps(gaps);
    let Some(gap) = gaps.first() else {
        return Err(Verdict::Broken(violation));
    };
    // Nobody has what a request without an answer returned: where only such lines are missing,
    // the others have every value that was used.
    let used = match gaps.iter().any(|it| it.is_answered) {
        true => Ok(()),
        false => login.used_once(),
    };
    Err(used.map_or_else(Verdict::Broken, |()| Verdict::Undecided(gap.why)))
}

impl Entry {
    /// The last word of its operation.
    fn name(&self) -> &str {
        self.operation.rsplit(['/', ' ']).next().unwrap_or_default()
    }

    /// Whether its steps are in the order of a login, and such as its status may have: of the
    /// refusals only that of a code's second use takes a step.
    fn is_orderly(&self) -> bool {
        let may_commit = !(400..500).contains(&self.status) || self.steps == "token_revoked";
        self.commits().is_some() && (self.steps.is_empty() || may_commit)
    }

    /// Whether a login began with it.
    fn starts(&self) -> bool {
        match self.name() {
            "session" => self.status == 200,
            name => name == "authorize" && self.begins(),
        }
    }

    /// Whether an upstream login began with it.
    fn begins(&self) -> bool {
        let is_visit = self.status == 303 && self.rule.is_empty();
        match self.name() {
            "{handle}" | "continue" => is_visit && self.has(Commit::Bound),
            name => is_visit && name == "authorize",
        }
    }

    /// The gap that a line makes which does not say what was committed, or of which the model
    /// has no operation.
    pub(super) fn gap(&self) -> Option<Gap> {
        let (is_idle, is_plain) = (self.steps.is_empty(), self.provenance == "no_metadata");
        let (why, is_answered) = match (self.name(), self.status, self.rule.as_str()) {
            (_, 500, _) => ("a broker failed", false),
            (.., "store.reachable") => ("the store failed", false),
            // On one machine it may begin an upstream login without being bound.
            ("{handle}", 303, "") if is_idle && is_plain => ("a visitor was no browser", true),
            ("{handle}" | "continue", 303, rule) if !rule.is_empty() => {
                ("its provider could not be reached", false)
            }
            _ => return None,
        };
        Some(Gap {
            from_ms: self.at_ms - self.took_ms,
            until_ms: self.at_ms,
            why,
            is_answered,
        })
    }
}

/// The lines of a login, and what they begin, by the numbers of the lines; 0 is that of a line
/// which is missing.
struct Login<'e> {
    entries: &'e [Entry],
    starts: Vec<u8>,
    upstream_logins: Vec<u8>,
}

impl<'e> Login<'e> {
    fn of(entries: &'e [Entry]) -> Self {
        let numbers = |is_one: fn(&Entry) -> bool| {
            let numbered = (1..).zip(entries).filter(|(_, it)| is_one(it));
            let numbers: Vec<u8> = numbered.map(|(number, _)| number).collect();
            if numbers.is_empty() { vec![0] } else { numbers }
        };
        Self {
            entries,
            starts: numbers(Entry::starts),
            upstream_logins: numbers(Entry::begins),
        }
    }

    fn history(&self, skew_ms: i64) -> History {
        let mut history = History::new(0, Flow::Clean, Provider::GitHub, &self.entries[0].login);
        for (number, entry) in (1..).zip(self.entries) {
            let steps = self.steps(number, entry);
            if steps.is_empty() {
                continue;
            }
            let mut happened = |steps, outcome| {
                let operation = operation(entry, skew_ms, steps, outcome);
                history.operations.push(operation);
            };
            if entry.has(Commit::UpstreamLoginConsumed) {
                happened(self.sign_ins(entry), Outcome::Unknown);
            }
            let line = LogLine {
                name: entry.to_string(),
                status: entry.status,
                commits: entry.commits().unwrap_or_default(),
            };
            happened(steps, Outcome::Logged(line));
        }
        history
    }

    /// The steps of which a line may be one; none, if it says nothing about the state of its
    /// login.
    fn steps(&self, number: u8, entry: &Entry) -> Vec<Step> {
        let (by, at) = (self.project(entry), Provider::GitHub);
        let is_judged = match entry.status {
            200 | 303 | 410 => true,
            400 => JUDGED_RULES.contains(&entry.rule.as_str()),
            401 => entry.name() == "profile",
            _ => false,
        };
        if entry.to != "broker" || !is_judged || entry.gap().is_some() {
            return Vec::new();
        }
        let each = |numbers: &[u8], step: &dyn Fn(u8) -> Step| -> Vec<Step> {
            numbers.iter().map(|number| step(*number)).collect()
        };
        let (starts, begun) = (&self.starts, &self.upstream_logins);
        match entry.name() {
            "session" => vec![Step::start(number, by, at, None)],
            "result" => vec![Step::read(by, None)],
            "authorize" if entry.begins() => vec![Step::authorize(number, OWNER, by, at)],
            "token" => each(begun, &|it| Step::redeem(it, by, None)),
            "profile" => each(begun, &|upstream_login| Step::Profile { upstream_login }),
            "revoke" => each(begun, &|upstream_login| Step::Revoke { upstream_login }),
            // A cookie may come long after its login.
            "{provider}" if entry.steps.is_empty() && *begun == [0] => Vec::new(),
            "{provider}" => each(begun, &|it| Step::deliver(it, OWNER)),
            "{handle}" | "continue" if entry.begins() => {
                each(starts, &|it| Step::visit(it, OWNER, number))
            }
            "cancel" if entry.status == 303 => {
                each(starts, &|login| Step::Cancel { login, by: OWNER })
            }
            "{handle}" | "continue" | "cancel" => {
                let by = if entry.status == 410 { STRANGER } else { OWNER };
                each(starts, &|login| Step::VisitUnvouched { login, by })
            }
            _ => Vec::new(),
        }
    }

    /// The sign-ins of which one came before a callback that counted.
    fn sign_ins(&self, callback: &Entry) -> Vec<Step> {
        let ending = match callback.rule.is_empty() {
            true => Ending::Success,
            false => Ending::Error(Failure::Denied),
        };
        let begun = self.upstream_logins.iter();
        begun.map(|it| Step::sign_in(*it, ending)).collect()
    }

    /// The project of a line; B, if it is not that of the first.
    fn project(&self, entry: &Entry) -> Project {
        let mut projects = self.entries.iter().map(|it| &it.project);
        let first = projects.find(|it| !it.is_empty());
        match entry.project.is_empty() || first == Some(&entry.project) {
            true => Project::A,
            false => Project::B,
        }
    }

    /// The gaps that may hide lines of it.
    fn gaps(&self, gaps: &[Gap]) -> Vec<Gap> {
        let entries = self.entries;
        let (first_ms, last_ms) = (entries[0].at_ms, entries[entries.len() - 1].at_ms);
        let before_ms = if self.starts == [0] { LIFE_MS } else { 0 };
        let from_ms = first_ms - before_ms;
        let is_near = |it: &&Gap| it.from_ms - IN_FLIGHT_MS <= last_ms && from_ms <= it.until_ms;
        let near = gaps.iter().filter(is_near).copied();
        near.chain(entries.iter().filter_map(Entry::gap)).collect()
    }

    /// Whether each code of a provider was exchanged for a callback that counted.
    fn exchanged_once(&self) -> Result<(), Violation> {
        let callbacks = self.count(Commit::UpstreamLoginConsumed);
        let mut exchanges = self.entries.iter().filter(|it| it.is_exchange());
        exchanges.nth(callbacks).map_or(Ok(()), |entry| {
            Err(format!(
                "an exchange without a callback that counted: {entry}"
            ))
        })
    }

    /// Whether nothing was used more often than there was of it.
    fn used_once(&self) -> Result<(), Violation> {
        let opened = self.starts.len();
        for (commit, available) in [
            (Commit::UpstreamLoginConsumed, self.upstream_logins.len()),
            (Commit::Completed, opened),
            (Commit::ResultConsumed, opened),
            (Commit::CodeRedeemed, self.count(Commit::CodeIssued).max(1)),
        ] {
            let mut uses = self.entries.iter().filter(|it| it.has(commit));
            if let Some(entry) = uses.nth(available) {
                return Err(format!("one {} too many: {entry}", commit.name()));
            }
        }
        Ok(())
    }

    /// The number of lines with a step.
    fn count(&self, commit: Commit) -> usize {
        self.entries.iter().filter(|it| it.has(commit)).count()
    }
}

/// The operation of a line. Times are whole milliseconds, rounded down.
fn operation(entry: &Entry, skew_ms: i64, steps: Vec<Step>, outcome: Outcome) -> Operation {
    let clock = Interval {
        earliest_ms: entry.at_ms - entry.took_ms - skew_ms,
        latest_ms: entry.at_ms + skew_ms,
    };
    let ns = |ms: i64| u64::try_from(ms).unwrap_or_default() * 1_000_000;
    Operation {
        steps,
        invoked_ns: ns(clock.earliest_ms - 1),
        completed_ns: ns(clock.latest_ms + 1),
        clock,
        is_settled: false,
        outcome,
    }
}
