//! False and true histories, made of operations.

use crate::check;
use crate::history::{AuditRecord, Flow, History, Operation, Outage, Outcome, User};
use crate::model::{Answer, Commit, Ending, Interval, Project, Provider, Step, Visitor};

pub(super) const SECOND_MS: i64 = 1_000;
pub(super) const CODE_LIFETIME_MS: i64 = 60_000;

pub(super) const ANN: Visitor = Visitor::Browser(1);
pub(super) const BOB: Visitor = Visitor::Browser(2);

/// An operation and its outcome, one second after the last.
pub(super) type Line = (Step, Outcome);

pub(super) fn history(flow: Flow, lines: &[Line]) -> History {
    let mut history = History::new(1, flow, Provider::GitHub, "the login");
    history.users.insert(1, ada());
    for (second, (step, outcome)) in (0..).zip(lines) {
        let ms = i64::try_from(second).unwrap() * SECOND_MS;
        history.operations.push(Operation {
            steps: vec![*step],
            invoked_ns: second * 1_000,
            completed_ns: second * 1_000 + 500,
            clock: Interval {
                earliest_ms: ms,
                latest_ms: ms + 500,
            },
            is_settled: true,
            outcome: outcome.clone(),
        });
    }
    history
}

pub(super) fn ada() -> User {
    user("github", "1")
}

/// The user with this id at a provider.
pub(super) fn user(provider: &str, id: &str) -> User {
    User {
        provider: provider.to_owned(),
        id: id.to_owned(),
        subject: format!("sub_{provider}_{id}"),
    }
}

pub(super) fn answered(step: Step, answer: Answer<User>) -> Line {
    (step, Outcome::Answered(answer))
}

pub(super) fn unknown(step: Step) -> Line {
    (step, Outcome::Unknown)
}

pub(super) fn start(login: u8) -> Step {
    Step::start(login, Project::A, Provider::GitHub, None)
}

pub(super) fn visit(by: Visitor, upstream_login: u8) -> Step {
    Step::visit(1, by, upstream_login)
}

pub(super) fn authorize() -> Step {
    Step::authorize(1, ANN, Project::A, Provider::GitHub)
}

pub(super) fn sign_in(ending: Ending) -> Line {
    answered(Step::sign_in(1, ending), Answer::FromProvider)
}

pub(super) fn deliver(by: Visitor) -> Step {
    Step::deliver(1, by)
}

pub(super) const READ: Step = Step::read(Project::A, None);
pub(super) const REDEEM: Step = Step::redeem(1, Project::A, None);
pub(super) const PROFILE: Step = Step::Profile { upstream_login: 1 };
pub(super) const REVOKE: Step = Step::Revoke { upstream_login: 1 };

pub(super) fn read(answer: Answer<User>) -> Line {
    answered(READ, answer)
}

pub(super) fn redeem(answer: Answer<User>) -> Line {
    answered(REDEEM, answer)
}

pub(super) fn profile(answer: Answer<User>) -> Line {
    answered(PROFILE, answer)
}

/// A clean login whose browser is back at the callback, and more.
pub(super) fn clean(more: &[Line]) -> History {
    clean_ending(Ending::Success, more)
}

pub(super) fn clean_ending(ending: Ending, more: &[Line]) -> History {
    let lines = [
        answered(start(1), Answer::Started),
        answered(visit(ANN, 1), Answer::ToProvider),
        sign_in(ending),
        answered(deliver(ANN), Answer::ToCallback),
    ];
    history(Flow::Clean, &[&lines, more].concat())
}

/// A legacy login whose browser is back with a code, and more.
pub(super) fn legacy(more: &[Line]) -> History {
    let lines = [
        answered(authorize(), Answer::ToProvider),
        sign_in(Ending::Success),
        answered(deliver(ANN), Answer::CallbackWithCode),
    ];
    history(Flow::Legacy, &[&lines, more].concat())
}

/// The operations from `from` on, and so much later.
pub(super) fn late(mut history: History, from: usize, by_ms: i64) -> History {
    for operation in &mut history.operations[from..] {
        operation.clock = operation.clock.plus_ms(by_ms);
    }
    history
}

/// The same history, with an outage that begins during operation `first` and ends with `last`.
pub(super) fn with_outage(mut history: History, first: usize, last: usize) -> History {
    history.outages.push(Outage {
        from_ns: history.operations[first].invoked_ns + 1,
        until_ns: history.operations[last].completed_ns,
    });
    history
}

/// The same history, with what the audit log has of it.
pub(super) fn logged(mut history: History, commits: &[Commit]) -> History {
    let mut audit = AuditRecord::default();
    for commit in commits {
        *audit.steps.entry(commit.name().to_owned()).or_default() += 1;
        audit.exchanges += u32::from(*commit == Commit::UpstreamLoginConsumed);
    }
    history.audit = Some(audit);
    history
}

pub(super) const CONSUMED: &[Commit] = &[
    Commit::Opened,
    Commit::Bound,
    Commit::UpstreamLoginConsumed,
    Commit::Completed,
    Commit::ResultConsumed,
];
pub(super) const COMPLETED: &[Commit] = CONSUMED.split_at(4).0;
pub(super) const REVOKED: &[Commit] = &[
    Commit::UpstreamLoginConsumed,
    Commit::CodeIssued,
    Commit::CodeRedeemed,
    Commit::TokenRevoked,
];
pub(super) const REDEEMED: &[Commit] = REVOKED.split_at(3).0;
pub(super) const ISSUED: &[Commit] = REVOKED.split_at(2).0;

#[track_caller]
pub(super) fn assert_wrong(history: &History, about: &str) {
    match check(history) {
        Ok(()) => panic!("nothing is found to be wrong with\n{history}"),
        Err(violation) => assert!(violation.contains(about), "{violation}\n{history}"),
    }
}

#[track_caller]
pub(super) fn assert_right(history: &History) {
    assert_eq!(check(history), Ok(()), "{history}");
}
