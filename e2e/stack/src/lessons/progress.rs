//! The steps of a lesson that are done, computed from facts.

use super::fact::Fact;
use super::lesson::{Lesson, Scope, StackState, Tick};

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
    By(&'f Fact<'e>),
}

impl Done<'_, '_> {
    pub(crate) fn is_done(&self) -> bool {
        !matches!(self, Self::No)
    }
}

impl<'f, 'e> Progress<'f, 'e> {
    /// The progress by `facts`, in which the `logins` started. `chosen` is the login that
    /// the student chose, if the lesson is about one.
    pub(super) fn new(
        lesson: &Lesson,
        facts: &'f [Fact<'e>],
        logins: &[&'e str],
        chosen: Option<&str>,
        stack: &StackState,
    ) -> Self {
        let of = |login: Option<&'e str>| Self::of_login(lesson, facts, login, stack);
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
        facts: &'f [Fact<'e>],
        login: Option<&'e str>,
        stack: &StackState,
    ) -> Self {
        let counts = |fact: &&Fact<'_>| match lesson.scope {
            Scope::OneLogin => fact.event.login.as_deref() == login,
            Scope::Logins(most) => fact.nth <= most,
            Scope::Attacks => fact.is_attack,
        };
        let mut scan = Scan {
            facts,
            after: 0,
            last_at: None,
        };
        let mut steps: Vec<Done> = Vec::new();
        for (index, step) in lesson.steps.iter().enumerate() {
            let done = match &step.tick {
                // Nothing counts before the steps above it.
                _ if steps.last().is_some_and(|done| !done.is_done()) => Done::No,
                Tick::Event(ticks) => scan.take(|fact| counts(&fact) && ticks(fact)),
                Tick::AnyLogin(ticks) => scan.take(*ticks),
                Tick::Prepared(preparation) => {
                    let next = lesson.steps.get(index + 1).map(|next| &next.tick);
                    let is_shown = match next {
                        Some(Tick::Event(ticks)) => {
                            let shows = |fact: &Fact<'_>| counts(&fact) && ticks(fact);
                            scan.find(shows).is_some()
                        }
                        _ => false,
                    };
                    match is_shown || preparation.holds(stack, scan.last_at) {
                        true => Done::Yes,
                        false => Done::No,
                    }
                }
            };
            steps.push(done);
        }
        let is_complete = steps.iter().all(Done::is_done);
        let mut scope = facts.iter().filter(counts);
        let missed = lesson.missed.as_ref().filter(|_| !is_complete);
        Self {
            out_of_order: out_of_order(lesson, &steps, &scan, &counts),
            is_missed: missed.is_some_and(|missed| scope.any(|fact| (missed.shows)(fact))),
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

/// A scan of the facts, from the event of one step to that of the next.
struct Scan<'f, 'e> {
    facts: &'f [Fact<'e>],
    /// The sequence number of the last step's event.
    after: u64,
    /// The time of that event.
    last_at: Option<i64>,
}

impl<'f, 'e> Scan<'f, 'e> {
    fn find(&self, ticks: impl Fn(&Fact<'e>) -> bool) -> Option<&'f Fact<'e>> {
        let mut later = self.facts.iter().filter(|fact| fact.event.seq > self.after);
        later.find(|fact| ticks(fact))
    }

    fn take(&mut self, ticks: impl Fn(&Fact<'e>) -> bool) -> Done<'f, 'e> {
        let Some(fact) = self.find(ticks) else {
            return Done::No;
        };
        self.after = fact.event.seq;
        self.last_at = Some(fact.event.at);
        Done::By(fact)
    }
}

/// A later step that happened before the first one that is not done.
fn out_of_order(
    lesson: &Lesson,
    steps: &[Done<'_, '_>],
    scan: &Scan<'_, '_>,
    counts: &dyn Fn(&&Fact<'_>) -> bool,
) -> Option<(usize, usize)> {
    let missing = steps.iter().position(|done| !done.is_done())?;
    let mut later = lesson.steps.iter().enumerate().skip(missing + 1);
    let early = later.find(|(_, step)| match &step.tick {
        Tick::Event(ticks) => scan.find(|fact| counts(&fact) && ticks(fact)).is_some(),
        _ => false,
    });
    early.map(|(index, _)| (missing + 1, index + 1))
}
