//! The checker: is there an order in which the model explains a history?
//!
//! Each operation has happened at some moment between its invocation and its
//! completion; one without an answer at some moment after its invocation, or never.
//! The search takes the operations in every such order and asks the model for its
//! answers, until one order explains every answer and what the audit log has. Times
//! count within the bounds in which the broker's clock was read.
//!
//! | outcome | what may have happened |
//! |---|---|
//! | answered | the step, with this answer |
//! | 503 | as without an answer, and only while the store or the broker was down |
//! | no answer | all of the step, its first half, or nothing |
//! | a line of a log | the step, with an answer of this status and with these commits |
//! | answered while the database was down | the step; of one that commits twice perhaps the first half alone, or the second only before the outage ends: a dead database costs the outcomes that were on their way to it, or shows them later, and no more |

pub mod history;
pub mod log;
pub mod model;
mod search;
#[cfg(test)]
mod tests;

use history::{History, LogLine, Outcome, User};
use model::{Answer, Commit, Model, Progress, Step, Visitor, Wrong};
pub use search::as_seen;
use search::{State, Unexplained};

/// The flaw of a history, in a sentence.
pub type Violation = String;

/// The violation of a history that has no explanation among all orders that were tried.
pub const TOO_MANY_ORDERS: &str = "the checker gave up: too many orders";

/// Looks for an explanation of `history`.
///
/// # Errors
///
/// Why there is none.
pub fn check(history: &History) -> Result<(), Violation> {
    for operation in &history.operations {
        match &operation.outcome {
            Outcome::Unexpected(what) => {
                return Err(format!("no answer to {:?}: {what}", operation.step()));
            }
            Outcome::Unavailable if operation.is_settled && !history.is_in_outage(operation) => {
                return Err(format!(
                    "503 to {:?}, and nothing was down",
                    operation.step()
                ));
            }
            _ => {}
        }
    }
    search::explain(history).map_err(|unexplained| match unexplained {
        Unexplained::TooManyOrders => TOO_MANY_ORDERS.to_owned(),
        Unexplained::At(state) => diagnosis(history, &state),
    })
}

/// The violation for which no order goes on from `state`.
fn diagnosis(history: &History, state: &State) -> Violation {
    if state.is_answered(history) {
        return of_the_log(history, state);
    }
    let candidates = state.candidates(history).into_iter();
    let definite = candidates.filter(|it| history.operations[*it].is_definite());
    let Some(index) = definite.min_by_key(|it| history.operations[*it].completed_ns) else {
        return "nothing explains the history".to_owned();
    };
    let operation = &history.operations[index];
    let possible = state.outcomes(history, index);
    let expected = possible.iter().filter_map(|it| it.answer.clone());
    let mut expected: Vec<_> = expected.collect();
    expected.dedup();
    let seen = match &operation.outcome {
        Outcome::Answered(seen) => seen,
        Outcome::Logged(line) => {
            let is_due = |commit| {
                let mut due = possible.iter().map(|it| state.committed_until(&it.next));
                due.any(|it| it.count(commit) > 0)
            };
            let left = state.left_of(line, index);
            let differs = |commit| (left.count(commit) > 0) != is_due(commit);
            let differing = Commit::ALL.iter().copied().find(|it| differs(*it));
            let sentence = of_line(&state.model, operation.step(), differing, line, &expected);
            return format!("{sentence}: {}", line.name);
        }
        _ => return "nothing explains the history".to_owned(),
    };
    let name = name(&state.model, operation.step(), seen, &expected);
    let expected = expected.into_iter().map(|it| format!("{:?}", as_seen(it)));
    let expected = expected.collect::<Vec<_>>().join(" or ");
    format!(
        "{name}: {:?} was answered {seen:?}, where the model has {expected}",
        operation.step()
    )
}

/// The name of the violation of a line of a log, by the first commit in which it differs from
/// the model. Of a callback only the commits show whether it counted.
fn of_line(
    model: &Model,
    step: Step,
    differing: Option<Commit>,
    line: &LogLine,
    expected: &[Answer],
) -> String {
    let has = |commit| line.commits.count(commit) > 0;
    match (step, differing) {
        (Step::Deliver { upstream_login, by }, Some(commit @ Commit::UpstreamLoginConsumed)) => {
            match has(commit) {
                true => of_delivery(model, (upstream_login, by), &Answer::ToCallback, true),
                false => "an upstream login was lost".to_owned(),
            }
        }
        (_, Some(commit @ Commit::Completed)) => match has(commit) {
            true => "a login was completed twice, or after its end".to_owned(),
            false => "a login was not completed".to_owned(),
        },
        _ => name(model, step, &of_status(step, line), expected),
    }
}

/// The answer that a line tells of, without its contents.
fn of_status(step: Step, line: &LogLine) -> Answer<User> {
    match (line.status, step) {
        (400, _) => Answer::Refused,
        (401, _) => Answer::Unrecognised,
        (410, _) => Answer::AnotherBrowser,
        (_, Step::Start { .. }) => Answer::Started,
        (_, Step::Read { .. }) if line.commits.count(Commit::ResultConsumed) == 0 => {
            Answer::Pending
        }
        (_, Step::Read { .. }) => Answer::Succeeded(User::default()),
        (_, Step::Redeem { .. }) => Answer::Token,
        (_, Step::Profile { .. }) => Answer::Profile(User::default()),
        (_, Step::Visit { .. }) => Answer::ToProvider,
        _ => Answer::ToCallback,
    }
}

/// The difference between the audit log and the answers.
fn of_the_log(history: &History, state: &State) -> Violation {
    let audit = history.audit.clone().unwrap_or_default();
    let differs = |commit: &&Commit| !state.is_logged_in(&audit, **commit);
    match Commit::ALL.iter().find(differs) {
        None => format!(
            "{} exchanges with the provider, where the model has {}",
            audit.exchanges, state.model.exchanges
        ),
        Some(commit) => format!(
            "the audit log has {} {} times, where the answers allow {}",
            commit.name(),
            audit.count(*commit),
            state.logged.count(*commit),
        ),
    }
}

fn name(model: &Model, step: Step, seen: &Answer<User>, expected: &[Answer]) -> String {
    if let Some(name) = of_the_user(seen, expected) {
        return name;
    }
    match (step, seen) {
        (Step::Start { .. }, Answer::Started) => "a session key was accepted twice",
        (Step::Start { .. }, _) => "a session key was refused while it was free",
        (_, Answer::ToProvider | Answer::ConfirmationPage)
            if expected.contains(&Answer::AnotherBrowser) =>
        {
            "another browser was let into the login"
        }
        (_, Answer::ToProvider) if expected.contains(&Answer::ToCallback) => {
            "a browser was let into a login that is over"
        }
        (_, Answer::AnotherBrowser) => "a browser was kept out of its login",
        (Step::Deliver { upstream_login, by }, seen) => {
            let mut expected = expected.iter().cloned().map(as_seen);
            let is_to_be_refused = expected.all(|it| it == Answer::Refused);
            return of_delivery(model, (upstream_login, by), seen, is_to_be_refused);
        }
        (Step::Read { key, .. }, seen) => return of_read(model, key, seen),
        (
            Step::Redeem {
                wrong: Some(Wrong::Verifier),
                ..
            },
            Answer::Token,
        ) => "a code was redeemed with another verifier",
        (Step::Redeem { upstream_login, .. }, Answer::Token) => {
            let redeemed = model.token(upstream_login);
            redeemed.map_or(
                "a code was redeemed after its end",
                |_| "a code was redeemed twice",
            )
        }
        (Step::Redeem { .. }, Answer::Refused) => "a code was lost",
        (Step::Profile { .. }, Answer::Profile(_)) => "a token outlived its end",
        (Step::Profile { .. }, Answer::Unrecognised) => "a token was lost",
        _ => "an answer that nothing explains",
    }
    .to_owned()
}

/// A profile of another user than the one who signed in, or an end without a cause.
fn of_the_user(seen: &Answer<User>, expected: &[Answer]) -> Option<String> {
    let is_due = |it: &Answer| matches!(it, Answer::Succeeded(_) | Answer::Profile(_));
    let is_other_end = |it: &Answer| {
        use Answer::{CallbackWithCode, CallbackWithError, Failed};
        matches!(it, Failed(_) | CallbackWithError(_) | CallbackWithCode)
    };
    if !expected.iter().any(|it| is_due(it) || is_other_end(it)) {
        return None;
    }
    match seen {
        Answer::Succeeded(_) | Answer::Profile(_) if expected.iter().any(is_due) => {
            Some("the profile of another user".to_owned())
        }
        Answer::Succeeded(_) | Answer::CallbackWithCode => {
            Some("a login succeeded that should have failed".to_owned())
        }
        Answer::Failed(failure) | Answer::CallbackWithError(failure) => {
            let failure = failure.name();
            Some(format!("it failed with {failure}, which nothing caused"))
        }
        _ => None,
    }
}

fn of_delivery(
    model: &Model,
    (upstream_login, by): (u8, Visitor),
    seen: &Answer<User>,
    is_to_be_refused: bool,
) -> String {
    let Some(delivered) = model.upstream_logins.get(&upstream_login) else {
        return "a callback without an upstream login".to_owned();
    };
    let is_refused = *seen == Answer::Refused;
    match (is_refused, delivered.visitor == by) {
        (false, false) => "a callback counted in another browser",
        (true, _) => "an upstream login was lost",
        (false, true) if delivered.is_consumed && is_to_be_refused => {
            "an upstream login was accepted twice"
        }
        (false, true) if is_to_be_refused => "an upstream login was accepted after its end",
        // The first half is explained, but not with this end.
        (false, true) => "a browser was sent to another address",
    }
    .to_owned()
}

fn of_read(model: &Model, key: u8, seen: &Answer<User>) -> String {
    let progress = model.under_key(key).map(|(_, login)| login.progress);
    let is_result = matches!(seen, Answer::Succeeded(_) | Answer::Failed(_));
    match (progress, seen) {
        (Some(Progress::Consumed), Answer::Pending) => "a result was promised after it was gone",
        (Some(Progress::Consumed), _) if is_result => "a result was returned twice",
        (Some(Progress::Completed(_)), Answer::Pending) => {
            "a login was lost: it is pending, and its browser is back"
        }
        (Some(Progress::Completed(_)), Answer::Refused) => "a result was lost",
        (Some(Progress::Completed(_)), _) if is_result => "a result was returned after its end",
        (Some(Progress::Pending), Answer::Refused) => "a login was lost while it was pending",
        (_, _) if is_result => "a result without a sign-in",
        _ => "a status or an error that no read has here",
    }
    .to_owned()
}
