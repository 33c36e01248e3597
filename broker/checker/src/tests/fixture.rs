//! False and true histories, made of operations.

use crate::check;
use crate::history::{AuditRecord, Flow, History, Operation, Outcome, User};
use crate::model::{Answer, Commit, Ending, Interval, Project, Provider, Step, Visitor};

pub(super) const SECOND_MS: i64 = 1_000;
pub(super) const LOGIN_LIFETIME_MS: i64 = 600_000;
pub(super) const CODE_LIFETIME_MS: i64 = 60_000;
pub(super) const TOKEN_LIFETIME_MS: i64 = 900_000;

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
            line: None,
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
    Step::Start {
        login,
        key: 1,
        by: Project::A,
        at: Provider::GitHub,
        wrong: None,
    }
}

pub(super) fn visit(by: Visitor, upstream_login: u8) -> Step {
    Step::Visit {
        login: 1,
        by,
        upstream_login,
    }
}

pub(super) fn authorize() -> Step {
    Step::Authorize {
        upstream_login: 1,
        by: ANN,
        project: Project::A,
        at: Provider::GitHub,
    }
}

pub(super) fn sign_in(ending: Ending) -> Line {
    let step = Step::SignIn {
        upstream_login: 1,
        ending,
    };
    answered(step, Answer::FromProvider)
}

pub(super) fn deliver(by: Visitor) -> Step {
    Step::Deliver {
        upstream_login: 1,
        by,
    }
}

pub(super) const READ: Step = Step::Read {
    key: 1,
    by: Project::A,
    wrong: None,
};
pub(super) const REDEEM: Step = Step::Redeem {
    upstream_login: 1,
    by: Project::A,
    wrong: None,
};
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

pub(super) const COMPLETED: &[Commit] = &[
    Commit::Opened,
    Commit::Bound,
    Commit::UpstreamLoginConsumed,
    Commit::Completed,
];
pub(super) const CONSUMED: &[Commit] = &[
    Commit::Opened,
    Commit::Bound,
    Commit::UpstreamLoginConsumed,
    Commit::Completed,
    Commit::ResultConsumed,
];
pub(super) const ISSUED: &[Commit] = &[Commit::UpstreamLoginConsumed, Commit::CodeIssued];
pub(super) const REDEEMED: &[Commit] = &[
    Commit::UpstreamLoginConsumed,
    Commit::CodeIssued,
    Commit::CodeRedeemed,
];
pub(super) const REVOKED: &[Commit] = &[
    Commit::UpstreamLoginConsumed,
    Commit::CodeIssued,
    Commit::CodeRedeemed,
    Commit::TokenRevoked,
];

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
