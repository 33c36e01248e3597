//! One login: its lines as a history, and the verdict on it.
//!
//! A log does not name browsers. Every visit that binds a login is its owner's, or it would
//! be answered 410, and a visit that is answered 410 is a stranger's. Nor does a log say
//! which of several upstream logins, codes or tokens of a login a line is about: the search
//! tries each. It has no results either: a result is what its login was completed with.

use super::source::{Entry, Gap};
use super::{IN_FLIGHT_MS, LIFE_MS};
use crate::history::{AuditRecord, Flow, History, LogLine, Operation, Outage, Outcome, User};
use crate::model::{Answer, Commit, Ending, Failure, Interval, Project, Provider, Step, Visitor};
use crate::{TOO_MANY_ORDERS, check};

/// The most lines of a login: each numbers the login or upstream login that it begins.
pub(super) const MAX_LINES: usize = 250;

/// The numbers of upstream logins that have begun without a line; the first is also that of
/// their login.
const UNSEEN: [u8; 2] = [0, 255];

const OWNER: Visitor = Visitor::Browser(1);
const STRANGER: Visitor = Visitor::Browser(2);

/// The verdict on a login.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Proven,
    /// The reason for which the log cannot decide.
    Undecided(&'static str),
    Broken(String),
}

/// Judges a login by its lines, which are in the order of time.
pub(super) fn judge(entries: &[Entry], gaps: &[Gap], skew_ms: i64) -> Verdict {
    if entries.len() > MAX_LINES {
        return Verdict::Undecided("it has too many lines");
    }
    let (first_ms, last_ms) = (entries[0].at_ms, entries[entries.len() - 1].at_ms);
    let has_beginning = entries.iter().any(Entry::begins_login);
    let before_ms = if has_beginning { 0 } else { LIFE_MS };
    let is_near =
        |gap: &Gap| gap.from_ms - IN_FLIGHT_MS <= last_ms && first_ms - before_ms <= gap.until_ms;
    let gaps = gaps.iter().filter(|it| is_near(it)).copied();
    let gaps: Vec<_> = gaps.chain(entries.iter().filter_map(Entry::gap)).collect();
    let judged = |gaps| {
        let login = Login {
            entries,
            gaps,
            skew_ms,
        };
        check(&login.history())
    };
    let Err(violation) = judged(&[]) else {
        return Verdict::Proven;
    };
    match (gaps.first(), judged(&gaps)) {
        (Some(gap), Ok(())) => Verdict::Undecided(gap.why),
        (_, Err(again)) if again == TOO_MANY_ORDERS => {
            Verdict::Undecided("its operations have too many orders")
        }
        _ => Verdict::Broken(violation),
    }
}

impl Entry {
    /// The last word of its operation.
    fn name(&self) -> &str {
        self.operation.rsplit(['/', ' ']).next().unwrap_or_default()
    }

    /// Whether a login began with it.
    fn begins_login(&self) -> bool {
        match self.name() {
            "session" => self.status == 200,
            name => name == "authorize" && self.begins().is_some(),
        }
    }

    /// The visitor whose upstream login it may have begun.
    fn begins(&self) -> Option<Visitor> {
        let is_visit = self.status == 303 && self.rule.is_empty();
        match self.name() {
            "{handle}" | "continue" if is_visit && self.has(Commit::Bound) => Some(OWNER),
            // A client that is no browser, unless its login is just over.
            "{handle}" if is_visit && self.provenance == "no_metadata" => Some(Visitor::Curl),
            "authorize" if is_visit => Some(OWNER),
            _ => None,
        }
    }

    /// The error with which a login fails by the rule.
    fn failure(&self) -> Option<Failure> {
        match self.rule.as_str() {
            "upstream.denied" | "relay.cancelled" => Some(Failure::Denied),
            "upstream.invalid" => Some(Failure::Invalid),
            "upstream.unavailable" => Some(Failure::Unavailable),
            _ => None,
        }
    }

    /// The gap that a line makes which does not say what was committed, or of which the model
    /// has no operation.
    pub(super) fn gap(&self) -> Option<Gap> {
        let is_unbound = self.has(Commit::Completed) && !self.has(Commit::Bound);
        let why = match (self.name(), self.status, self.rule.as_str()) {
            (_, 500, _) => "a broker failed",
            (_, 503, "store.reachable") => "the store failed",
            ("{handle}", ..) if is_unbound => "it ended unbound",
            _ => return None,
        };
        Some(Gap {
            from_ms: self.at_ms - self.took_ms,
            until_ms: self.at_ms,
            is_answered: false,
            why,
        })
    }
}

/// A login, and the gaps in which it may have operations without a line.
struct Login<'e> {
    entries: &'e [Entry],
    gaps: &'e [Gap],
    skew_ms: i64,
}

impl<'e> Login<'e> {
    fn history(&self) -> History {
        let mut history = History::new(0, self.flow(), Provider::GitHub, &self.entries[0].login);
        history.users = (0..=u8::MAX).map(|it| (it, user())).collect();
        let mut audit = AuditRecord::default();
        for (number, entry) in (1..).zip(self.entries) {
            audit.exchanges += u32::from(entry.is_exchange());
            let clock = self.clock(entry);
            if entry.has(Commit::UpstreamLoginConsumed) {
                let [.., sign_in, _] = self.steps(number, entry);
                let sign_in = operation(sign_in, clock, Outcome::Unknown);
                history.operations.push(sign_in);
            }
            let Some((steps, outcome)) = self.meaning(number, entry) else {
                continue;
            };
            for step in entry.steps.split_whitespace() {
                *audit.steps.entry(step.to_owned()).or_default() += 1;
            }
            let mut operation = operation(steps, clock, outcome);
            let (from_ns, until_ns) = (operation.invoked_ns, operation.completed_ns);
            if entry.rule == "store.reachable" {
                history.outages.push(Outage { from_ns, until_ns });
            }
            let (name, commits) = (entry.to_string(), entry.commits().unwrap_or_default());
            operation.line = Some(LogLine { name, commits });
            history.operations.push(operation);
        }
        history.audit = Some(audit);
        // They come last, for the search to try them only where nothing else goes on.
        let unseen = self.gaps.iter().flat_map(|gap| self.unseen(gap));
        history.operations.extend(unseen);
        history
    }

    fn flow(&self) -> Flow {
        let is_refused = |it: &Entry| it.status == 400 && it.rule.starts_with("upstream_login.");
        let is_legacy = |it: &Entry| match it.name() {
            "authorize" | "profile" | "revoke" => true,
            "token" => !it.is_exchange(),
            "{provider}" => is_refused(it) || it.has(Commit::CodeIssued),
            _ => false,
        };
        match self.entries.iter().any(is_legacy) {
            true => Flow::Legacy,
            false => Flow::Clean,
        }
    }

    /// The steps of which a line may be one, and the outcome; none, if the line says nothing
    /// about the state of its login.
    fn meaning(&self, number: u8, entry: &Entry) -> Option<(Vec<Step>, Outcome)> {
        let [
            start,
            visit,
            ask,
            cancel,
            read,
            authorize,
            redeem,
            profile,
            revoke,
            _,
            deliver,
        ] = self.steps(number, entry);
        let (is_clean, is_idle) = (self.flow() == Flow::Clean, entry.steps.is_empty());
        let failure = entry.failure().unwrap_or(Failure::Unavailable);
        let unexpected = |what: &str| Some((read.clone(), Outcome::Unexpected(what.to_owned())));
        let (steps, answer) = match (entry.name(), entry.status, entry.rule.as_str()) {
            _ if entry.gap().is_some() || entry.is_exchange() => return None,
            _ if entry.commits().is_none() => return unexpected("steps in the wrong order"),
            ("session", 200, _) => (start, Answer::Started),
            ("session", 400, "session_key.fresh") => (start, Answer::Refused),
            ("result", 200, _) if is_idle => (read, Answer::Pending),
            ("result", 200, _) => (read, self.result(entry)),
            ("result", 400, "result.once" | "result.expiry" | "result.known") => {
                (read, Answer::Refused)
            }
            ("token", 200, _) => (redeem, Answer::Token),
            ("token", 400, "code.once" | "code.expiry") => (redeem, Answer::Refused),
            ("profile", 200, _) => (profile, Answer::Profile(user())),
            ("profile", 401, _) => (profile, Answer::Unrecognised),
            ("revoke", 200, _) => (revoke, Answer::Revoked),
            ("authorize", 303, "") => (authorize, Answer::ToProvider),
            // A cookie may come long after its login.
            ("{provider}", ..) if is_idle && self.begun(entry).is_empty() => return None,
            ("{provider}", 303, _) if is_clean => (deliver, Answer::ToCallback),
            ("{provider}", 303, _) if entry.has(Commit::CodeIssued) => {
                (deliver, Answer::CallbackWithCode)
            }
            ("{provider}", 303, _) => (deliver, Answer::CallbackWithError(failure)),
            ("{provider}", 400, "upstream_login.once" | "upstream_login.expiry") => {
                (deliver, Answer::Refused)
            }
            ("{handle}" | "continue", 303, "") => match entry.begins() {
                Some(OWNER) => (visit, Answer::ToProvider),
                Some(_) => return Some((visit, Outcome::Unknown)),
                None => (ask, Answer::ToCallback),
            },
            ("{handle}" | "continue" | "cancel", 303, _) => (cancel, Answer::ToCallback),
            ("{handle}", 200, _) => (ask, Answer::ConfirmationPage),
            (_, 410, _) => (ask, Answer::AnotherBrowser),
            _ if !is_idle => return unexpected("steps that its answer excludes"),
            _ => return None,
        };
        Some((steps, Outcome::Answered(answer)))
    }

    /// The steps that a line may be: to start, visit, look at, cancel and read its login; to
    /// authorize, redeem, read and revoke; to sign in and deliver.
    fn steps(&self, number: u8, entry: &Entry) -> [Vec<Step>; 11] {
        let (key, at, wrong, project) = (1, Provider::GitHub, None, self.project(entry));
        let (by, upstream_login, ending) = (project, number, self.ending(entry));
        let started = self
            .before(entry)
            .filter(|(_, it)| it.begins_login())
            .last();
        let login = started.map_or(0, |(number, _)| number);
        let visitor = entry.begins().unwrap_or(OWNER);
        let looks = if entry.status == 410 { STRANGER } else { OWNER };
        let begun = self.begun(entry);
        let of_begun = |step: &dyn Fn(u8, Visitor) -> Step| -> Vec<Step> {
            match begun[..] {
                [] => vec![step(UNSEEN[0], OWNER)],
                _ => begun.iter().map(|(it, by)| step(*it, *by)).collect(),
            }
        };
        [
            vec![Step::Start {
                login: number,
                key,
                by,
                at,
                wrong,
            }],
            vec![Step::Visit {
                login,
                by: visitor,
                upstream_login,
            }],
            vec![Step::VisitUnvouched { login, by: looks }],
            vec![Step::Cancel { login, by: OWNER }],
            vec![Step::Read { key, by, wrong }],
            vec![Step::Authorize {
                upstream_login,
                by: OWNER,
                project,
                at,
            }],
            of_begun(&|upstream_login, _| Step::Redeem {
                upstream_login,
                by,
                wrong,
            }),
            of_begun(&|upstream_login, _| Step::Profile { upstream_login }),
            of_begun(&|upstream_login, _| Step::Revoke { upstream_login }),
            of_begun(&|upstream_login, _| Step::SignIn {
                upstream_login,
                ending,
            }),
            of_begun(&|upstream_login, by| Step::Deliver { upstream_login, by }),
        ]
    }

    /// The operations that a gap may hide. A client that got no answer has neither cookie nor
    /// code, and goes on with neither.
    fn unseen(&self, gap: &Gap) -> Vec<Operation> {
        let end = &self.entries[self.entries.len() - 1];
        let [
            start,
            visit,
            _,
            cancel,
            read,
            authorize,
            redeem,
            _,
            revoke,
            sign_in,
            deliver,
        ] = self.steps(UNSEEN[0], end);
        let [_, visit_again, _, _, _, authorize_again, ..] = self.steps(UNSEEN[1], end);
        let hidden = match self.flow() {
            Flow::Clean => vec![sign_in, deliver, read, start, visit, visit_again, cancel],
            Flow::Legacy => vec![sign_in, deliver, redeem, revoke, authorize, authorize_again],
        };
        let (earliest_ms, latest_ms) = (gap.from_ms - IN_FLIGHT_MS, gap.until_ms);
        let clock = Interval {
            earliest_ms,
            latest_ms,
        };
        let is_possible = |steps: &Vec<Step>| match steps[0] {
            Step::Authorize { .. } => gap.is_answered,
            Step::Visit { upstream_login, .. } => gap.is_answered || upstream_login == UNSEEN[0],
            Step::Start { .. } => !self.entries.iter().any(Entry::begins_login),
            _ => true,
        };
        let hidden = hidden.into_iter().filter(is_possible);
        let hidden = hidden.map(|steps| operation(steps, clock, Outcome::Unknown));
        hidden.collect()
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

    /// The upstream logins that may have begun before the end of `entry`, and their visitors.
    fn begun(&self, entry: &Entry) -> Vec<(u8, Visitor)> {
        let seen = self
            .before(entry)
            .filter_map(|(number, it)| Some((number, it.begins()?)));
        let unseen = UNSEEN.map(|it| (it, OWNER)).into_iter();
        seen.chain(unseen.filter(|_| self.gaps.iter().any(|it| it.is_answered)))
            .collect()
    }

    /// The lines, with their numbers, of which the requests began before the end of `entry`'s.
    fn before(&self, entry: &Entry) -> impl Iterator<Item = (u8, &'e Entry)> {
        let end_ms = self.clock(entry).latest_ms;
        let lines = (1..).zip(self.entries);
        lines.filter(move |(_, it)| self.clock(it).earliest_ms <= end_ms)
    }

    /// The bounds of a request, by the clock of any broker.
    fn clock(&self, entry: &Entry) -> Interval {
        Interval {
            earliest_ms: entry.at_ms - entry.took_ms - self.skew_ms,
            latest_ms: entry.at_ms + self.skew_ms,
        }
    }

    /// The ending of the sign-in whose callback `entry` is.
    fn ending(&self, entry: &Entry) -> Ending {
        let is_its_own = |it: &Entry| it.is_exchange() && it.request_id == entry.request_id;
        match (entry.failure(), self.entries.iter().any(is_its_own)) {
            (None, _) => Ending::Success,
            (Some(failure), true) => Ending::BadCode(failure),
            (Some(failure), false) => Ending::Error(failure),
        }
    }

    /// The result that a read consumed. A login that ended before its sign-in is read as one
    /// that was cancelled, for so the model has it.
    fn result(&self, read: &Entry) -> Answer<User> {
        let completed = self
            .before(read)
            .filter(|(_, it)| it.has(Commit::Completed));
        match completed.last() {
            Some((_, it)) if it.name() != "{provider}" => Answer::Failed(Failure::Denied),
            Some((_, it)) => it
                .failure()
                .map_or(Answer::Succeeded(user()), Answer::Failed),
            None => Answer::Succeeded(user()),
        }
    }
}

fn operation(steps: Vec<Step>, clock: Interval, outcome: Outcome) -> Operation {
    // Times are whole milliseconds, rounded down.
    let ns = |ms: i64| u64::try_from(ms).unwrap_or_default() * 1_000_000;
    Operation {
        steps,
        invoked_ns: ns(clock.earliest_ms - 1),
        completed_ns: ns(clock.latest_ms + 1),
        clock,
        is_settled: false,
        outcome,
        line: None,
    }
}

/// The user of every profile: the log has none.
fn user() -> User {
    let (provider, id, subject) = Default::default();
    User {
        provider,
        id,
        subject,
    }
}
