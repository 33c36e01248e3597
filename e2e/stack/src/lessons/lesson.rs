//! The parts of a lesson: its steps, their buttons, and the ticks that events set.

use broker::relay::RelayGuard;
use contract::Rule;

use super::fact::Fact;
use crate::faults::{ArmedFault, Fault};
use crate::login_status::LoginFlow;
use crate::sources::Place;

/// One lesson. All of it is static: a student's progress follows from the events.
pub(crate) struct Lesson {
    /// The last segment of its path.
    pub(crate) id: &'static str,
    pub(crate) title: &'static str,
    /// The time that it takes, in minutes.
    pub(crate) minutes: u32,
    pub(crate) goal: &'static str,
    pub(crate) scope: Scope,
    pub(crate) steps: &'static [Step],
    /// The usual way to miss the point of the lesson.
    pub(crate) missed: Option<Missed>,
    /// The lesson to remember, in paragraphs.
    pub(crate) closing: &'static [&'static str],
    /// The rules of the contract that it is about.
    pub(crate) rules: &'static [Rule],
    /// The lines of the reference consumer that follow them.
    pub(crate) places: &'static [Place],
}

/// The logins whose events count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// One login: the one that has come furthest, or the one that the student chose.
    OneLogin,
    /// This number of logins, in the order of their start.
    Logins(usize),
    /// Those that the attacker started.
    Attacks,
}

/// One step: what to do, and what happens then.
pub(crate) struct Step {
    pub(crate) text: &'static str,
    pub(crate) actions: &'static [Action],
    pub(crate) tick: Tick,
    /// The explanation once the step is done, and the thing to look at.
    pub(crate) seen: &'static str,
}

/// A link or a button of a step.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Action {
    /// A link to the demo.
    Demo,
    /// A button that prepares the stack.
    Prepare(Preparation),
    /// A button that sends the answered read of the result again.
    SendAgain,
    /// A button that starts a login as the attacker.
    Attack(LoginFlow),
}

/// The condition under which a step is done.
pub(crate) enum Tick {
    /// An event of the login that counts.
    Event(fn(&Fact<'_>) -> bool),
    /// An event of any login, after the step before it.
    AnyLogin(fn(&Fact<'_>) -> bool),
    /// The stack is prepared, or the next step shows that it was.
    Prepared(Preparation),
}

/// Something that a button changes in the stack.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Preparation {
    /// A fault at the next call of an operation.
    Fault {
        operation: &'static str,
        fault: Fault,
    },
    /// A misbehaviour of a provider at the next sign-in.
    Misbehaviour {
        provider: &'static str,
        name: &'static str,
    },
    /// An advance of the clock after the step before.
    Advance { seconds: u32 },
}

/// A way to miss the point: the events by which it shows, and what to do about it.
pub(crate) struct Missed {
    pub(crate) shows: fn(&Fact<'_>) -> bool,
    pub(crate) advice: &'static str,
}

/// The state of the stack, as far as a tick or a page asks about it.
#[derive(Debug)]
pub(crate) struct StackState {
    pub(crate) armed: Vec<ArmedFault>,
    /// The provider and the name of each misbehaviour that is planned.
    pub(crate) planned: Vec<(&'static str, &'static str)>,
    /// The time in Unix milliseconds.
    pub(crate) now_ms: i64,
    /// The relay guard of the demo's project.
    pub(crate) relay_guard: RelayGuard,
}

impl Preparation {
    /// Whether the stack is in this state, `last_at` being the time of the step before.
    pub(super) fn holds(self, stack: &StackState, last_at: Option<i64>) -> bool {
        match self {
            Self::Fault { operation, fault } => {
                let mut armed = stack.armed.iter();
                armed.any(|it| it.operation == operation && it.fault == fault.name())
            }
            Self::Misbehaviour { provider, name } => stack.planned.contains(&(provider, name)),
            Self::Advance { seconds } => {
                last_at.is_some_and(|at| stack.now_ms - at >= i64::from(seconds) * 1000)
            }
        }
    }
}
