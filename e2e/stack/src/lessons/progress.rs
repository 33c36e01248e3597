//! The steps of a lesson that are done: computed from the events since it began, which its
//! address says.

use std::collections::HashSet;
use std::sync::Arc;

use broker::relay::RelayGuard;

use super::lesson::{Condition, Lesson, Preparation, Scope, Tick};
use crate::event_log::{EventLog, LoggedEvent};
use crate::facts::meaning::{Answers, Meaning, Outcome, meaning};
use crate::facts::{Call, Fact};
use crate::faults::ArmedFault;

/// The place in the event log at which a student began a lesson: `?run=…&since=…`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LessonRun {
    /// The event log's own run, which a reset ends.
    run: String,
    /// The sequence number of the last event before the lesson.
    pub(crate) since: u64,
}

/// The content of a lesson's address.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Beginning {
    /// The lesson has not begun.
    None,
    /// It began in a run that a reset, or the end of the stack, has ended.
    Reset,
    /// It has begun.
    At(LessonRun),
}

impl LessonRun {
    /// A lesson that begins now.
    pub(crate) fn begin(event_log: &EventLog) -> Self {
        Self {
            run: event_log.run(),
            since: event_log.last_seq(),
        }
    }

    /// The path of the lesson `id`, with the login that the student chose.
    pub(crate) fn path(&self, id: &str, login: Option<&str>) -> String {
        let Self { run, since } = self;
        let login = login.map(|login| format!("&login={login}"));
        let login = login.unwrap_or_default();
        format!("/lessons/{id}?run={run}&since={since}{login}")
    }
}

impl Beginning {
    /// Reads the parameters of an address. One that no page has written is not begun.
    pub(crate) fn parse(run: Option<&str>, since: Option<&str>, event_log: &EventLog) -> Self {
        let since = since.and_then(|since| since.parse().ok());
        match (run, since) {
            (Some(run), Some(_)) if run != event_log.run() => Self::Reset,
            (Some(run), Some(since)) => Self::At(LessonRun {
                run: run.to_owned(),
                since,
            }),
            _ => Self::None,
        }
    }
}

/// An event of a lesson.
pub(crate) struct LessonEvent<'e> {
    pub(crate) event: &'e LoggedEvent,
    /// Its meaning to the app: an outcome that a fault has kept from it is none.
    pub(crate) meaning: Meaning,
    /// The number of its login, in the order of their start, from 1.
    pub(crate) nth: usize,
    /// Whether the broker asked the user of this login for confirmation before.
    pub(crate) was_asked: bool,
    /// Whether the attacker of the relay lesson started the login.
    pub(crate) is_attack: bool,
}

/// The events of the logins that began in `events`, oldest first, and the ids of these logins
/// in the order of their start.
pub(super) fn lesson_events<'e>(
    events: &'e [Arc<LoggedEvent>],
    answers: &dyn Answers,
    is_attack: &dyn Fn(&str) -> bool,
) -> (Vec<LessonEvent<'e>>, Vec<&'e str>) {
    let is_lost = |event: &&Arc<LoggedEvent>| !event.is_delivered(event.fault());
    let lost: HashSet<&str> = events
        .iter()
        .filter(is_lost)
        .map(|event| event.request_id.as_str())
        .collect();
    let mut logins: Vec<&str> = Vec::new();
    let mut asked: HashSet<&str> = HashSet::new();
    let mut all = Vec::new();
    for event in events {
        let Some(login) = event.login.as_deref() else {
            continue;
        };
        let begins = matches!(Call::of(event), Call::StartLogin | Call::Authorize);
        if begins && !logins.contains(&login) {
            logins.push(login);
        }
        let Some(index) = logins.iter().position(|known| *known == login) else {
            continue;
        };
        let mut meaning = meaning(event, answers);
        if meaning.outcome().is_some() && lost.contains(event.request_id.as_str()) {
            meaning.fact = Fact::Answered;
        }
        all.push(LessonEvent {
            event,
            meaning,
            nth: index + 1,
            was_asked: asked.contains(login),
            is_attack: is_attack(login),
        });
        if event.is_question() {
            asked.insert(login);
        }
    }
    (all, logins)
}

impl LessonEvent<'_> {
    fn shows(&self, condition: &Condition) -> bool {
        let Self { event, meaning, .. } = self;
        let has_fact = condition.fact.is_none_or(|fact| match fact {
            Fact::SignedIn => matches!(meaning.outcome(), Some(Outcome::SignedIn(_))),
            fact => meaning.fact == fact,
        });
        let rule = condition.rule.as_ref().map(|it| it.0.id());
        let fault = condition.fault.as_deref();
        has_fact
            && condition.nth.is_none_or(|nth| nth == self.nth)
            && condition
                .was_asked
                .is_none_or(|asked| asked == self.was_asked)
            && (rule.is_none() || rule == event.rule)
            && (fault.is_none() || fault == event.fault)
            && (condition.error.is_none() || condition.error == meaning.subject)
            && condition
                .operation
                .as_ref()
                .is_none_or(|it| *it == event.operation)
    }
}

/// The state of the stack, as far as a tick or a page asks about it.
#[derive(Debug)]
pub(crate) struct StackState {
    pub(crate) armed: Vec<ArmedFault>,
    /// The misbehaviours that are planned.
    pub(crate) planned: Vec<Preparation>,
    /// The time in Unix milliseconds.
    pub(crate) now_ms: i64,
    /// The relay guard of the demo's project.
    pub(crate) relay_guard: RelayGuard,
}

impl StackState {
    /// Whether the stack is prepared, `last_at` being the time of the step before.
    fn is(&self, preparation: &Preparation, last_at: Option<i64>) -> bool {
        match preparation {
            Preparation::Fault { operation, fault } => {
                let mut armed = self.armed.iter();
                armed.any(|it| it.operation == operation && it.fault == fault)
            }
            Preparation::Misbehaviour { .. } => self.planned.contains(preparation),
            Preparation::Advance { seconds } => {
                last_at.is_some_and(|at| self.now_ms - at >= i64::from(*seconds) * 1000)
            }
        }
    }
}

/// The progress of a student.
pub(crate) struct Progress<'f, 'e> {
    /// For each step whether it is done, and by which event.
    pub(crate) steps: Vec<Done<'f, 'e>>,
    /// The login that counts, if one does alone.
    pub(crate) login: Option<&'e str>,
    /// A step that happened before an earlier one was done: both numbers, from 1.
    pub(crate) out_of_order: Option<(usize, usize)>,
    /// Whether the student missed the point in the usual way.
    pub(crate) is_missed: bool,
}

/// Whether a step is done.
pub(crate) enum Done<'f, 'e> {
    No,
    Yes,
    By(&'f LessonEvent<'e>),
}

impl Done<'_, '_> {
    pub(crate) fn is_done(&self) -> bool {
        !matches!(self, Self::No)
    }
}

/// The events from which a lesson is ticked.
struct LessonScope<'f, 'e> {
    scope: Scope,
    events: &'f [LessonEvent<'e>],
    /// The login that counts, if one does alone.
    login: Option<&'e str>,
}

impl<'f, 'e> LessonScope<'f, 'e> {
    fn counts(&self, it: &LessonEvent<'_>) -> bool {
        match self.scope {
            Scope::OneLogin => it.event.login.as_deref() == self.login,
            Scope::Logins(most) => it.nth <= most,
            Scope::Attacks => it.is_attack,
        }
    }

    /// The first event after `last` that ticks a step.
    fn find(&self, tick: &Tick, last: Option<&LessonEvent<'_>>) -> Option<&'f LessonEvent<'e>> {
        match tick {
            Tick::Event(condition) => self.events.iter().find(|it| {
                last.is_none_or(|last| it.event.seq > last.event.seq)
                    && (condition.any_login || self.counts(it))
                    && it.shows(condition)
            }),
            Tick::Prepared { .. } => None,
        }
    }

    /// The steps, and the event of the last one that an event has ticked.
    fn steps(
        &self,
        lesson: &Lesson,
        stack: &StackState,
    ) -> (Vec<Done<'f, 'e>>, Option<&'f LessonEvent<'e>>) {
        let mut last = None;
        let mut steps: Vec<Done> = Vec::new();
        for (index, step) in lesson.steps.iter().enumerate() {
            let next = lesson.steps.get(index + 1).map(|next| &next.tick);
            let done = match &step.tick {
                // Nothing counts before the steps above it.
                _ if steps.last().is_some_and(|done| !done.is_done()) => Done::No,
                Tick::Prepared { prepared } => {
                    let next = next.filter(|next| is_own(next));
                    let is_shown = next.is_some_and(|next| self.find(next, last).is_some());
                    match is_shown || stack.is(prepared, last.map(|last| last.event.at)) {
                        true => Done::Yes,
                        false => Done::No,
                    }
                }
                tick => self.find(tick, last).map_or(Done::No, Done::By),
            };
            if let Done::By(event) = done {
                last = Some(event);
            }
            steps.push(done);
        }
        (steps, last)
    }

    /// The step at `missing`, which is the first that is not done, and a later one that
    /// happened before it; both from 1.
    fn out_of_order(
        &self,
        lesson: &Lesson,
        missing: usize,
        last: Option<&LessonEvent<'_>>,
    ) -> Option<(usize, usize)> {
        let mut later = (missing + 1)..lesson.steps.len();
        let is_early = |tick: &Tick| is_own(tick) && self.find(tick, last).is_some();
        let early = later.find(|index| is_early(&lesson.steps[*index].tick))?;
        Some((missing + 1, early + 1))
    }
}

/// Whether only events of the login that counts tick a step.
fn is_own(tick: &Tick) -> bool {
    !matches!(tick, Tick::Event(it) if it.any_login)
}

impl<'f, 'e> Progress<'f, 'e> {
    /// The progress by `events`, in which the `logins` started. `chosen` is the login that
    /// the student chose, if the lesson is about one.
    pub(super) fn new(
        lesson: &Lesson,
        events: &'f [LessonEvent<'e>],
        logins: &[&'e str],
        chosen: Option<&str>,
        stack: &StackState,
    ) -> Self {
        let of = |login: Option<&'e str>| Self::of_login(lesson, events, login, stack);
        if lesson.scope != Scope::OneLogin {
            return of(None);
        }
        let chosen = logins.iter().find(|login| Some(**login) == chosen);
        if let Some(login) = chosen {
            return of(Some(login));
        }
        // The login that has come furthest; of several such the newest.
        let all = logins.iter().map(|login| of(Some(login)));
        all.max_by_key(Self::count_done).unwrap_or_else(|| of(None))
    }

    fn of_login(
        lesson: &Lesson,
        events: &'f [LessonEvent<'e>],
        login: Option<&'e str>,
        stack: &StackState,
    ) -> Self {
        let scope = LessonScope {
            scope: lesson.scope,
            events,
            login,
        };
        let (steps, last) = scope.steps(lesson, stack);
        let missing = steps.iter().position(|done| !done.is_done());
        let missed = lesson.missed.as_ref().filter(|_| missing.is_some());
        let mut own = events.iter().filter(|it| scope.counts(it));
        Self {
            out_of_order: missing.and_then(|missing| scope.out_of_order(lesson, missing, last)),
            is_missed: missed.is_some_and(|missed| own.any(|it| it.shows(&missed.shows))),
            steps,
            login,
        }
    }

    /// The number of steps that events have done: a prepared stack says nothing about a
    /// login.
    fn count_done(&self) -> usize {
        let by_event = |done: &&Done| matches!(done, Done::By(_));
        self.steps.iter().filter(by_event).count()
    }

    pub(crate) fn is_complete(&self) -> bool {
        self.steps.iter().all(Done::is_done)
    }
}
