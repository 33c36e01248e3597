//! The steps of a lesson that are done: computed from the events since it began and from the
//! answers, both of which its address says.

use std::collections::HashSet;
use std::sync::Arc;

use url::form_urlencoded::Serializer;

use super::attacker::Attack;
use super::lesson::{Condition, Lesson, Missed, Press, Scope, Step, Tick};
use crate::event_log::{EventLog, LoggedEvent};
use crate::facts::meaning::{Answers, Meaning, Outcome, meaning};
use crate::facts::{Call, Fact, LoginFlow};

/// The place in the event log at which a student began a lesson, and their answers since:
/// `?run=…&since=…&answer=…`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LessonRun {
    /// The event log's own run, which a reset ends.
    run: String,
    /// The sequence number of the last event before the lesson.
    pub(crate) since: u64,
    /// The answers to the question, the last one last.
    pub(crate) answers: Vec<String>,
    /// Whether the stack was reset since; every event after that counts.
    pub(crate) was_reset: bool,
}

impl LessonRun {
    /// A lesson that begins now.
    pub(crate) fn begin(event_log: &EventLog) -> Self {
        Self {
            run: event_log.run(),
            since: event_log.last_seq(),
            answers: Vec::new(),
            was_reset: false,
        }
    }

    /// Reads the place in an address; `None` if no page has written it.
    pub(crate) fn parse(
        run: Option<&str>,
        since: Option<&str>,
        event_log: &EventLog,
    ) -> Option<Self> {
        let since = since?.parse().ok()?;
        let was_reset = run? != event_log.run();
        Some(Self {
            since: if was_reset { 0 } else { since },
            was_reset,
            ..Self::begin(event_log)
        })
    }

    /// The path of the lesson `id`.
    pub(crate) fn path(&self, id: &str) -> String {
        let mut path = format!("/lessons/{id}?run={}&since={}", self.run, self.since);
        let query = path.len() - 1;
        let answers = self.answers.iter().map(|it| ("answer", it));
        Serializer::for_suffix(&mut path, query).extend_pairs(answers);
        path
    }

    /// The same place with these answers.
    pub(crate) fn with_answers(&self, answers: Vec<String>) -> Self {
        let run = self.clone();
        Self { answers, ..run }
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
    /// The attack that started the login.
    pub(crate) attack: Option<&'e Attack>,
}

/// The events of a lesson's logins, oldest first, and these logins in the order of their start.
#[derive(Default)]
pub(crate) struct LessonEvents<'e> {
    pub(crate) events: Vec<LessonEvent<'e>>,
    pub(crate) logins: Vec<&'e str>,
    /// Whether the student has started a login by the other flow.
    pub(crate) has_other_flow: bool,
}

impl<'e> LessonEvents<'e> {
    /// Those in `events` that are about the logins which began in them.
    pub(super) fn new(
        scope: Scope,
        events: &'e [Arc<LoggedEvent>],
        answers: &dyn Answers,
        attacks: &'e [Attack],
    ) -> Self {
        let lost = events.iter().filter(|it| !it.is_delivered(it.fault()));
        let lost: HashSet<&str> = lost.map(|event| event.request_id.as_str()).collect();
        let mut asked: HashSet<&str> = HashSet::new();
        let mut all = Self::default();
        for event in events {
            let Some(login) = event.login.as_deref() else {
                continue;
            };
            let begun = match Call::of(event) {
                Call::StartLogin => Some(LoginFlow::Clean),
                Call::Authorize => Some(LoginFlow::Legacy),
                _ => None,
            };
            if let Some(flow) = begun.filter(|_| !all.logins.contains(&login)) {
                let is_other = !scope.is_attack() && flow != scope.flow();
                all.has_other_flow |= is_other;
                all.logins.extend((!is_other).then_some(login));
            }
            let Some(index) = all.logins.iter().position(|known| *known == login) else {
                continue;
            };
            let mut meaning = meaning(event, answers);
            if meaning.outcome().is_some() && lost.contains(event.request_id.as_str()) {
                meaning.fact = Fact::Answered;
            }
            all.events.push(LessonEvent {
                event,
                meaning,
                nth: index + 1,
                was_asked: asked.contains(login),
                attack: attacks.iter().find(|attack| attack.login == login),
            });
            if event.is_question() {
                asked.insert(login);
            }
        }
        all
    }
}

impl LessonEvent<'_> {
    fn shows(&self, condition: &Condition) -> bool {
        let Self { event, meaning, .. } = self;
        let has_fact = condition.fact.is_none_or(|fact| match fact {
            Fact::SignedIn => matches!(meaning.outcome(), Some(Outcome::SignedIn(_))),
            fact => meaning.fact == fact,
        });
        let is_in = self.attack.and_then(|it| it.back.as_ref());
        let is_in = is_in.map(|back| back.is_in);
        let rule = condition.rule.as_ref().map(|it| it.0.id());
        let is = |wanted: &Option<String>, its| wanted.is_none() || wanted.as_deref() == its;
        has_fact
            && condition.nth.is_none_or(|nth| nth == self.nth)
            && condition.was_asked.is_none_or(|it| it == self.was_asked)
            && condition.attacker_is_in.is_none_or(|it| Some(it) == is_in)
            && (rule.is_none() || rule == event.rule)
            && is(&condition.error, meaning.subject.as_deref())
            && is(&condition.operation, Some(&event.operation))
    }
}

/// The acts of a student beside signing in, and the time.
#[derive(Default)]
pub(crate) struct Situation {
    /// The buttons whose effect lasts, as their forms.
    pub(crate) pressed: Vec<Press>,
    /// The time in Unix milliseconds.
    pub(crate) now_ms: i64,
    pub(crate) answers: Vec<String>,
}

impl Situation {
    /// Whether the stack is as a button leaves it, `last_at` being the time of the step before.
    fn shows(&self, press: &Press, last_at: Option<i64>) -> bool {
        let seconds = press
            .fields
            .get("seconds")
            .and_then(|it| it.parse::<i64>().ok());
        match seconds {
            Some(seconds) => last_at.is_some_and(|at| self.now_ms - at >= 1000 * seconds),
            None => self.pressed.iter().any(|it| it.is_like(press)),
        }
    }
}

/// The progress of a student.
pub(crate) struct Progress<'f, 'e> {
    /// The steps that are done, each with the event that ticked it, if one did.
    pub(crate) done: Vec<Option<&'f LessonEvent<'e>>>,
    /// The login that counts, if one does alone.
    pub(crate) login: Option<&'e str>,
    /// A step that happened before an earlier one was done: both numbers, from 1.
    pub(crate) out_of_order: Option<(usize, usize)>,
    /// The usual way to miss the point, if the student took it.
    pub(crate) missed: Option<&'static Missed>,
}

/// The events from which a lesson is ticked.
struct Ticks<'f, 'e> {
    lesson: &'static Lesson,
    events: &'f [LessonEvent<'e>],
    /// The login that counts, if one does alone.
    login: Option<&'e str>,
    situation: &'f Situation,
}

impl<'f, 'e> Ticks<'f, 'e> {
    fn counts(&self, it: &LessonEvent<'_>) -> bool {
        match self.lesson.scope {
            Scope::Login(_) => it.event.login.as_deref() == self.login,
            Scope::Logins(most) => it.nth <= most,
            Scope::Attacks(_) => it.attack.is_some(),
        }
    }

    /// The first event after `last` that ticks a step.
    fn find(&self, tick: &Tick, last: Option<&LessonEvent<'_>>) -> Option<&'f LessonEvent<'e>> {
        let Tick::Event(condition) = tick else {
            return None;
        };
        self.events.iter().find(|it| {
            last.is_none_or(|last| it.event.seq > last.event.seq)
                && (condition.any_login || self.counts(it))
                && it.shows(condition)
        })
    }

    /// Like `find`, for a step that a login of any kind does not tick.
    fn find_own(&self, index: usize, last: Option<&LessonEvent<'_>>) -> bool {
        let tick = self.lesson.steps.get(index).map(|step| &step.tick);
        let own = tick.filter(|tick| !matches!(tick, Tick::Event(it) if it.any_login));
        own.is_some_and(|tick| self.find(tick, last).is_some())
    }

    fn progress(&self) -> Progress<'f, 'e> {
        let Lesson { steps, missed, .. } = self.lesson;
        let mut last = None;
        let mut done = Vec::new();
        // Nothing counts before the steps above it.
        for (index, step) in steps.iter().enumerate() {
            let event = self.find(&step.tick, last);
            let is_done = match &step.tick {
                Tick::Event(_) => event.is_some(),
                Tick::Press(press) => {
                    let last_at = last.map(|it: &LessonEvent<'_>| it.event.at);
                    self.find_own(index + 1, last) || self.situation.shows(press, last_at)
                }
                Tick::Question(question) => question.is_answered(&self.situation.answers),
            };
            if !is_done {
                break;
            }
            last = event.or(last);
            done.push(event);
        }
        let missing = done.len();
        // What happens before a question is answered is not lost.
        let is_act = |step: &Step| !matches!(step.tick, Tick::Question(_));
        let out_of_order = steps.get(missing).filter(|it| is_act(it)).and_then(|_| {
            let mut later = missing + 1..steps.len();
            let early = later.find(|index| self.find_own(*index, last))?;
            Some((missing + 1, early + 1))
        });
        let missed = missed.as_ref().filter(|_| missing < steps.len());
        let mut own = self.events.iter().filter(|it| self.counts(it));
        Progress {
            done,
            login: self.login,
            out_of_order,
            missed: missed.filter(|missed| own.any(|it| it.shows(&missed.shows))),
        }
    }
}

impl<'f, 'e> Progress<'f, 'e> {
    /// The progress by `events`: if the lesson is about one login, by the one that has come
    /// furthest, and of several such by the newest.
    pub(super) fn new(
        lesson: &'static Lesson,
        events: &'f LessonEvents<'e>,
        situation: &'f Situation,
    ) -> Self {
        let of = |login: Option<&'e str>| {
            let ticks = Ticks {
                lesson,
                events: &events.events,
                login,
                situation,
            };
            ticks.progress()
        };
        let Scope::Login(_) = lesson.scope else {
            return of(None);
        };
        let all = events.logins.iter().map(|login| of(Some(login)));
        // A step without an event says nothing about a login.
        all.max_by_key(|it| it.done.iter().flatten().count())
            .unwrap_or_else(|| of(None))
    }
}
