//! The search for an order of the operations that the model explains.

use std::collections::HashSet;

use crate::history::{AuditRecord, History, LogLine, Operation, Outcome};
use crate::model::{Answer, Begun, Commit, Commits, Model, Now, Rest, Step};

/// A search that takes more than this has lost its way; a login needs a few hundred.
const MAX_STATES: usize = 200_000;

/// Finds an order that explains `history`.
///
/// # Errors
///
/// The point at which the order that came furthest cannot go on.
pub(super) fn explain(history: &History) -> Result<(), Unexplained> {
    let mut search = Search {
        history,
        seen: HashSet::new(),
        furthest: None,
    };
    let beginning = State {
        model: Model::default(),
        progress: vec![Progress::Waiting; history.operations.len()],
        logged: Commits::default(),
        lost: Commits::default(),
    };
    if search.goes_on(&beginning) {
        return Ok(());
    }
    if search.seen.len() >= MAX_STATES {
        return Err(Unexplained::TooManyOrders);
    }
    let furthest = search.furthest.map_or(beginning, |(_, state)| state);
    Err(Unexplained::At(Box::new(furthest)))
}

/// The reason why a search found no order.
pub(super) enum Unexplained {
    /// No order leads beyond this point.
    At(Box<State>),
    /// The search was given up.
    TooManyOrders,
}

/// One point of a search: what has happened so far.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct State {
    pub(super) model: Model,
    /// The progress of each operation.
    progress: Vec<Progress>,
    /// The commits that must be in the audit log.
    pub(super) logged: Commits,
    /// The commits that a broker may not have come to log before it ended.
    pub(super) lost: Commits,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Progress {
    Waiting,
    Underway(Rest),
    /// Answered without the second half, whose commit may have been made unnoticed.
    Unnoticed(Rest),
    Done,
}

struct Search<'h> {
    history: &'h History,
    seen: HashSet<State>,
    /// The state with the most halves of definite operations that are done, and their number.
    furthest: Option<(usize, State)>,
}

impl Search<'_> {
    /// Whether some order of what is left explains it.
    fn goes_on(&mut self, state: &State) -> bool {
        if self.seen.len() >= MAX_STATES || !self.seen.insert(state.clone()) {
            return false;
        }
        self.remember(state);
        if state.is_answered(self.history) && state.is_logged(self.history) {
            return true;
        }
        let candidates = state.candidates(self.history);
        // What changes nothing may as well happen now, unless it comes too late for something
        // else, or something without an answer may have come first.
        let is_open = |index: &usize| !self.history.operations[*index].is_definite();
        let may_differ = state.may_show_late(self.history) || candidates.iter().any(is_open);
        let free = match may_differ {
            true => None,
            false => candidates.iter().find_map(|&index| self.free(state, index)),
        };
        if let Some(next) = free {
            return self.goes_on(&next);
        }
        candidates.into_iter().any(|index| {
            self.successors(state, index)
                .into_iter()
                .any(|next| self.goes_on(&next))
        })
    }

    /// The state after a definite operation that leaves the model as it is, if that
    /// explains it and nothing else could.
    fn free(&self, state: &State, index: usize) -> Option<State> {
        let mut successors = self.successors(state, index);
        let next = successors.pop().filter(|_| successors.is_empty())?;
        (next.model == state.model && next.progress[index] == Progress::Done).then_some(next)
    }

    /// The states after the next half of an operation, as far as they explain it.
    fn successors(&self, state: &State, index: usize) -> Vec<State> {
        let operation = &self.history.operations[index];
        let mut successors = Vec::new();
        for outcome in state.outcomes(self.history, index) {
            let is_right = outcome
                .answer
                .as_ref()
                .is_none_or(|it| self.fits(operation, it))
                && state.is_logged_so(operation, index, &outcome.next);
            let is_new = outcome.next.model != state.model || operation.is_definite();
            if is_right && is_new && !successors.contains(&outcome.next) {
                successors.push(outcome.next);
            }
        }
        successors
    }

    /// Whether the client saw this answer, or none; or a log has its status.
    fn fits(&self, operation: &Operation, answer: &Answer) -> bool {
        match &operation.outcome {
            Outcome::Answered(seen) => {
                let user = |number| self.history.users.get(&number).cloned();
                let expected = as_seen(answer.clone()).map(user);
                expected == seen.clone().map(Some)
            }
            Outcome::Logged(line) => answer.status() == line.status,
            _ => true,
        }
    }

    fn remember(&mut self, state: &State) {
        let definite = state.progress.iter().zip(&self.history.operations);
        let definite = definite.filter(|(_, operation)| operation.is_definite());
        let halves = definite.map(|(progress, _)| match progress {
            Progress::Waiting => 0,
            Progress::Underway(_) => 1,
            Progress::Unnoticed(_) | Progress::Done => 2,
        });
        let done = halves.sum();
        if self.furthest.as_ref().is_none_or(|(most, _)| *most < done) {
            self.furthest = Some((done, state.clone()));
        }
    }
}

/// One possible outcome of half an operation.
pub(super) struct Possible {
    /// The answer, after the last half.
    pub(super) answer: Option<Answer>,
    pub(super) next: State,
}

impl State {
    /// The operations that may be next: no definite one that is left was completed
    /// before they were invoked.
    pub(super) fn candidates(&self, history: &History) -> Vec<usize> {
        let left = || (0..self.progress.len()).filter(|it| self.is_left(history, *it));
        let definite = left().filter(|it| self.must_happen(history, *it));
        let first_ns = definite
            .map(|it| history.operations[it].completed_ns)
            .min()
            .unwrap_or(u64::MAX);
        left()
            .filter(|it| history.operations[*it].invoked_ns <= first_ns)
            .collect()
    }

    /// Whether something of an operation may still happen.
    fn is_left(&self, history: &History, index: usize) -> bool {
        match self.progress[index] {
            Progress::Waiting | Progress::Underway(_) => true,
            Progress::Unnoticed(_) => !self.is_past_outage_of(history, index),
            Progress::Done => false,
        }
    }

    /// Whether an unnoticed commit may still show.
    fn may_show_late(&self, history: &History) -> bool {
        let mut operations = self.progress.iter().enumerate();
        operations.any(|(index, progress)| {
            matches!(progress, Progress::Unnoticed(_)) && self.is_left(history, index)
        })
    }

    /// Whether something has happened that began after the outage of an operation. What a
    /// server had committed when it died is visible since it, or its standby, is back.
    fn is_past_outage_of(&self, history: &History, index: usize) -> bool {
        let end = history.end_of_outage(&history.operations[index]);
        let mut operations = self.progress.iter().zip(&history.operations);
        operations.any(|(progress, it)| *progress != Progress::Waiting && Some(it.invoked_ns) > end)
    }

    /// Whether the client saw an answer that is not explained yet.
    fn must_happen(&self, history: &History, index: usize) -> bool {
        let is_explained = matches!(
            self.progress[index],
            Progress::Unnoticed(_) | Progress::Done
        );
        history.operations[index].is_definite() && !is_explained
    }

    /// The outcomes that the model allows for the next half of an operation.
    pub(super) fn outcomes(&self, history: &History, index: usize) -> Vec<Possible> {
        let operation = &history.operations[index];
        match self.progress[index] {
            Progress::Done => Vec::new(),
            Progress::Waiting => {
                let begin = |step: &Step| self.begun(operation, index, *step);
                let possible = operation.steps.iter();
                let possible = possible.filter(|it| self.model.has_subject_of(**it));
                possible.flat_map(begin).collect()
            }
            Progress::Underway(rest) => {
                let mut possible = self.finished(operation, index, rest);
                if history.is_in_outage(operation) {
                    possible.push(Possible {
                        answer: Some(self.model.finish_without_store(rest)),
                        next: self.with(
                            self.model.clone(),
                            operation,
                            index,
                            Progress::Unnoticed(rest),
                        ),
                    });
                }
                possible
            }
            Progress::Unnoticed(rest) => {
                let finished = self.finished(operation, index, rest);
                let unanswered = |it: Possible| Possible { answer: None, ..it };
                finished.into_iter().map(unanswered).collect()
            }
        }
    }

    fn begun(&self, operation: &Operation, index: usize, step: Step) -> Vec<Possible> {
        self.taken(operation, index, |model, now| {
            match model.begin(step, now) {
                Begun::Answered(answer) => (Some(answer), Progress::Done),
                Begun::Underway(rest) => (None, Progress::Underway(rest)),
            }
        })
    }

    fn finished(&self, operation: &Operation, index: usize, rest: Rest) -> Vec<Possible> {
        self.taken(operation, index, |model, now| {
            (Some(model.finish(rest, now)), Progress::Done)
        })
    }

    /// The outcomes of half an operation, one for each combination of decisions.
    fn taken(
        &self,
        operation: &Operation,
        index: usize,
        take: impl Fn(&mut Model, &mut Now) -> (Option<Answer>, Progress),
    ) -> Vec<Possible> {
        let mut possible = Vec::new();
        let mut now = Now::within(operation.clock);
        loop {
            let mut model = self.model.clone();
            let (answer, progress) = take(&mut model, &mut now);
            let next = self.with(model, operation, index, progress);
            possible.push(Possible { answer, next });
            if !now.advance() {
                return possible;
            }
        }
    }

    /// Whether the commits up to `next` are those of the operation's line, if it was read from one.
    fn is_logged_so(&self, operation: &Operation, index: usize, next: &Self) -> bool {
        let Outcome::Logged(line) = &operation.outcome else {
            return true;
        };
        let (left, committed) = (self.left_of(line, index), self.committed_until(next));
        match next.progress[index] {
            Progress::Underway(_) => left.include(committed),
            _ => left == committed,
        }
    }

    /// The commits of an operation's line that have not happened yet.
    pub(super) fn left_of(&self, line: &LogLine, index: usize) -> Commits {
        let mut happened = Commits::default();
        if matches!(self.progress[index], Progress::Underway(_)) {
            happened.add(Commit::UpstreamLoginConsumed);
        }
        line.commits.since(happened)
    }

    /// The commits between this point and a later one.
    pub(super) fn committed_until(&self, next: &Self) -> Commits {
        next.model.committed.since(self.model.committed)
    }

    fn with(&self, model: Model, operation: &Operation, index: usize, progress: Progress) -> Self {
        let committed = model.committed.since(self.model.committed);
        let mut next = Self {
            model,
            ..self.clone()
        };
        next.progress[index] = progress;
        let is_unnoticed = matches!(self.progress[index], Progress::Unnoticed(_));
        if !is_unnoticed && (operation.is_definite() || operation.is_settled) {
            next.logged = next.logged.plus(committed);
        } else {
            next.lost = next.lost.plus(committed);
        }
        next
    }

    /// Whether every answer is explained.
    pub(super) fn is_answered(&self, history: &History) -> bool {
        let mut operations = 0..self.progress.len();
        operations.all(|index| !self.must_happen(history, index))
    }

    /// Whether the audit log, if it was read, has what happened.
    fn is_logged(&self, history: &History) -> bool {
        let Some(audit) = &history.audit else {
            return true;
        };
        let all_logged = Commit::ALL.iter().all(|it| self.is_logged_in(audit, *it));
        all_logged && audit.exchanges <= u32::from(self.model.exchanges)
    }

    /// Whether the audit log has the commits of a kind; those that may be lost it may lack.
    pub(super) fn is_logged_in(&self, audit: &AuditRecord, commit: Commit) -> bool {
        let least = u32::from(self.logged.count(commit));
        let most = least + u32::from(self.lost.count(commit));
        (least..=most).contains(&audit.count(commit))
    }
}

/// The answer as far as a client distinguishes it: pages with one status are one.
pub fn as_seen(answer: Answer) -> Answer {
    match answer {
        Answer::NotThisBrowser | Answer::UpstreamLoginOver => Answer::Refused,
        other => other,
    }
}
