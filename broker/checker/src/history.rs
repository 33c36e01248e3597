//! All operations on one login, as the checker reads them. A history holds no secret, so
//! that it can be printed.
//!
//! `*_ns` are nanoseconds on a clock of this process that never jumps, so that "invoked
//! after another completed" is a fact; `clock` is the broker's clock meanwhile.

use std::collections::BTreeMap;
use std::fmt;

use strum::IntoStaticStr;

use crate::model::{Answer, Commit, Commits, Interval, Provider, Step};

/// One of the two flows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum Flow {
    /// The clean callback: a backend starts a login and reads its result.
    Clean,
    /// The legacy authorization: a browser brings back a code.
    Legacy,
}

/// One login, from its first operation to its last.
#[derive(Debug, Clone)]
pub struct History {
    /// Its number in the run; the seed and this give the same decisions again.
    pub index: u64,
    /// Its flow.
    pub flow: Flow,
    /// The provider at which its user signs in.
    pub provider: Provider,
    /// The login's id in the broker's log.
    pub login_id: String,
    /// The operations, in any order.
    pub operations: Vec<Operation>,
    /// The users who signed in, by the number of the upstream login.
    pub users: BTreeMap<u8, User>,
    /// The outages of the database.
    pub outages: Vec<Outage>,
    /// The login's entries in the broker's audit log, if that was read.
    pub audit: Option<AuditRecord>,
}

/// A time in which the database may have failed.
#[derive(Debug, Clone, Copy)]
pub struct Outage {
    /// Its beginning.
    pub from_ns: u64,
    /// Its end.
    pub until_ns: u64,
}

/// The entries of one login in the audit log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditRecord {
    /// The number of commits, by the name of the step.
    pub steps: BTreeMap<String, u32>,
    /// The number of codes that were exchanged with a provider.
    pub exchanges: u32,
}

impl Flow {
    /// The name of the flow.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

impl History {
    /// A login without any operation yet.
    pub fn new(index: u64, flow: Flow, provider: Provider, login_id: &str) -> Self {
        Self {
            index,
            flow,
            provider,
            login_id: login_id.to_owned(),
            operations: Vec::new(),
            users: BTreeMap::new(),
            outages: Vec::new(),
            audit: None,
        }
    }

    /// Whether the database may have failed during `operation`.
    pub fn is_in_outage(&self, operation: &Operation) -> bool {
        self.end_of_outage(operation).is_some()
    }

    /// The end of the outage during `operation`, if there was one.
    pub fn end_of_outage(&self, operation: &Operation) -> Option<u64> {
        let overlaps = |it: &&Outage| {
            operation.invoked_ns < it.until_ns && it.from_ns < operation.completed_ns
        };
        let during = self.outages.iter().filter(overlaps);
        during.map(|it| it.until_ns).max()
    }

    /// The login's end: `succeeded`, the error, or `unfinished`.
    pub fn outcome(&self) -> &'static str {
        let mut answers = self.operations.iter().filter_map(Operation::answer);
        let end = answers.find_map(|answer| match answer {
            Answer::Succeeded(_) | Answer::Profile(_) => Some("succeeded"),
            Answer::Failed(failure) | Answer::CallbackWithError(failure) => Some(failure.name()),
            _ => None,
        });
        end.unwrap_or("unfinished")
    }
}

impl AuditRecord {
    /// The number of times that a step was committed.
    pub fn count(&self, commit: Commit) -> u32 {
        self.steps.get(commit.name()).copied().unwrap_or_default()
    }
}

impl fmt::Display for History {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (flow, provider) = (self.flow.name(), self.provider.name());
        let (index, login) = (self.index, &self.login_id);
        writeln!(
            f,
            "login {index}, {flow}, at {provider}, in the log {login}:"
        )?;
        let mut operations: Vec<_> = self.operations.iter().collect();
        operations.sort_by_key(|it| it.invoked_ns);
        let first = operations.first();
        let begin_ns = first.map_or(0, |it| it.invoked_ns);
        let begin_ms = first.map_or(0, |it| it.clock.earliest_ms);
        for it in operations {
            line(f, it, begin_ns, begin_ms)?;
        }
        for outage in &self.outages {
            let micros = |ns: u64| ns.saturating_sub(begin_ns) / 1_000;
            let (from, until) = (micros(outage.from_ns), micros(outage.until_ns));
            writeln!(f, "  {from:>9} to {until:>9} µs  the database is down")?;
        }
        match &self.audit {
            Some(audit) => writeln!(f, "  in the audit log: {audit:?}"),
            None => Ok(()),
        }
    }
}

fn line(
    f: &mut fmt::Formatter<'_>,
    operation: &Operation,
    begin_ns: u64,
    begin_ms: i64,
) -> fmt::Result {
    let micros = |ns: u64| (ns - begin_ns) / 1_000;
    let (from, until) = (micros(operation.invoked_ns), micros(operation.completed_ns));
    let ms = operation.clock.latest_ms - begin_ms;
    let steps: Vec<_> = operation.steps.iter().map(|it| format!("{it:?}")).collect();
    let steps = steps.join(" or ");
    let outcome = match &operation.outcome {
        Outcome::Answered(answer) => format!("{answer:?}"),
        other => format!("{other:?}"),
    };
    let restarted = match operation.is_settled {
        true => "",
        false => " (the broker was restarted)",
    };
    writeln!(
        f,
        "  {from:>9} to {until:>9} µs, {ms:>8} ms by its clock  {steps}: {outcome}{restarted}"
    )
}

/// One call, from its invocation to its completion.
#[derive(Debug, Clone)]
pub struct Operation {
    /// The step that was asked for. Where a provider may end a sign-in in several ways,
    /// each is a step of its own.
    pub steps: Vec<Step>,
    /// The time of its invocation.
    pub invoked_ns: u64,
    /// The time of its completion.
    pub completed_ns: u64,
    /// The broker's clock from the invocation to the completion.
    pub clock: Interval,
    /// Whether the broker ran from the invocation to the completion: what it committed
    /// is in its log then.
    pub is_settled: bool,
    /// The outcome.
    pub outcome: Outcome,
}

/// The line of an operation in a broker's log, which has no contents of the answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogLine {
    /// The text by which a violation names it.
    pub name: String,
    /// The HTTP status of the answer.
    pub status: u16,
    /// All of the operation's commits, whatever its answer is.
    pub commits: Commits,
}

/// The outcome of an operation: what the client saw, or what a log has of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// No answer of the broker: the operation has happened, will happen, or never will.
    Unknown,
    /// 503: as unknown, and right only while the store or the broker was down.
    Unavailable,
    /// An answer that the model has.
    Answered(Answer<User>),
    /// An answer of which only the line in the broker's log is known.
    Logged(LogLine),
    /// No answer that the operation can have.
    Unexpected(String),
}

/// The user whom a profile shows.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct User {
    /// The provider's name.
    pub provider: String,
    /// The user's id at the provider.
    pub id: String,
    /// The subject that the broker derives from both.
    pub subject: String,
}

impl Operation {
    /// The step, or the first of several.
    pub fn step(&self) -> Step {
        self.steps[0]
    }

    /// Whether it is known what became of it.
    pub fn is_definite(&self) -> bool {
        !matches!(self.outcome, Outcome::Unknown | Outcome::Unavailable)
    }

    /// The answer that the client saw, if there was one.
    pub fn answer(&self) -> Option<&Answer<User>> {
        match &self.outcome {
            Outcome::Answered(answer) => Some(answer),
            _ => None,
        }
    }

    /// Whether both were under way at the same time.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.invoked_ns < other.completed_ns && other.invoked_ns < self.completed_ns
    }
}

impl Outcome {
    /// A word for it in a table.
    pub fn name(&self) -> String {
        match self {
            Self::Unknown => "not answered".to_owned(),
            Self::Unavailable => "503".to_owned(),
            Self::Unexpected(_) => "unexpected".to_owned(),
            Self::Logged(line) => line.status.to_string(),
            Self::Answered(Answer::Failed(failure) | Answer::CallbackWithError(failure)) => {
                failure.name().to_owned()
            }
            Self::Answered(answer) => variant(answer),
        }
    }
}

/// The name of a variant in lower case, without its fields.
pub fn variant(value: &impl fmt::Debug) -> String {
    let text = format!("{value:?}");
    let end = text.find([' ', '(', '{']).unwrap_or(text.len());
    let mut words = String::new();
    for (index, letter) in text[..end].char_indices() {
        if index > 0 && letter.is_uppercase() {
            words.push(' ');
        }
        words.push(letter.to_ascii_lowercase());
    }
    words
}
