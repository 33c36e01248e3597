//! Acknowledged outcomes that are gone, and the outages that excuse it.

use super::fixture::{
    ANN, COMPLETED, CONSUMED, ISSUED, READ, REDEEM, REDEEMED, ada, answered, assert_right,
    assert_wrong, authorize, clean, deliver, history, legacy, logged, profile, read, redeem,
    sign_in, start, unknown,
};
use crate::history::{Flow, History, Outage};
use crate::model::{Answer, Commit, Ending, Failure};
use crate::operation::{Operation, Outcome};

#[test]
fn what_was_acknowledged_is_not_lost() {
    assert_wrong(&clean(&[read(Answer::Refused)]), "a result was lost");
    assert_wrong(&legacy(&[redeem(Answer::Refused)]), "a code was lost");
    let refused = [
        answered(authorize(), Answer::ToProvider),
        sign_in(Ending::Success),
        answered(deliver(ANN), Answer::Refused),
    ];
    assert_wrong(
        &history(Flow::Legacy, &refused),
        "an upstream login was lost",
    );
    let gone = [redeem(Answer::Token), profile(Answer::Unrecognised)];
    assert_wrong(&legacy(&gone), "a token was lost");
    let opened = [answered(start(1), Answer::Started), read(Answer::Refused)];
    assert_wrong(&history(Flow::Clean, &opened), "lost while it was pending");
}

#[test]
fn the_audit_log_has_what_was_answered() {
    let once = clean(&[read(Answer::Succeeded(ada())), read(Answer::Refused)]);
    assert_wrong(
        &logged(once.clone(), COMPLETED),
        "result_consumed 0 times, where the answers allow 1",
    );
    let twice = [CONSUMED, &[Commit::Completed]].concat();
    assert_wrong(&logged(once, &twice), "completed 2 times");
    let used_up = legacy(&[unknown(REDEEM), redeem(Answer::Token)]);
    let twice = [REDEEMED, &[Commit::CodeRedeemed]].concat();
    assert_wrong(&logged(used_up, &twice), "code_redeemed 2 times");
}

#[test]
fn what_was_not_answered_is_as_the_audit_log_has_it() {
    let lost = [unknown(READ), read(Answer::Refused)];
    assert_right(&clean(&lost));
    assert_right(&logged(clean(&lost), CONSUMED));
    assert_wrong(&logged(clean(&lost), COMPLETED), "result_consumed 0 times");
    let lost = [unknown(REDEEM), redeem(Answer::Refused)];
    assert_right(&logged(legacy(&lost), REDEEMED));
    assert_wrong(&logged(legacy(&lost), ISSUED), "code_redeemed 0 times");
    let granted = [unknown(READ), read(Answer::Succeeded(ada()))];
    assert_right(&logged(clean(&granted), CONSUMED));
}

#[test]
fn a_broker_that_dies_may_not_have_logged_what_it_did() {
    let mut died = logged(clean(&[unknown(READ), read(Answer::Refused)]), COMPLETED);
    died.operations[4].is_settled = false;
    assert_right(&died);
    let mut halfway = logged(clean(&[read(Answer::Pending)]), &COMPLETED[..2]);
    halfway.operations[3].is_settled = false;
    halfway.operations[3].outcome = Outcome::Unknown;
    assert_right(&halfway);
}

#[test]
fn a_dead_database_costs_the_outcomes_on_their_way_to_it_and_no_more() {
    let outage = |mut history: History, operation: usize| {
        let it = &history.operations[operation];
        history.outages.push(Outage {
            from_ns: it.invoked_ns + 1,
            until_ns: it.completed_ns,
        });
        history
    };
    let pending = clean(&[read(Answer::Pending)]);
    assert_right(&outage(pending.clone(), 3));
    assert_wrong(&outage(pending, 2), "a login was lost");
    let refused = clean(&[read(Answer::Refused)]);
    assert_wrong(&outage(refused, 3), "lost");
    let unkept = [
        answered(authorize(), Answer::ToProvider),
        sign_in(Ending::Success),
        answered(
            deliver(ANN),
            Answer::CallbackWithError(Failure::Unavailable),
        ),
    ];
    let unkept = history(Flow::Legacy, &unkept);
    assert_right(&outage(unkept.clone(), 2));
    assert_wrong(&unkept, "it failed with provider_unavailable");
}

/// The server that dies may have committed an outcome, and be gone before any reader of it
/// can see that.
#[test]
fn an_outcome_on_its_way_to_a_dead_database_may_show_when_it_is_back_and_not_later() {
    let again = answered(start(2), Answer::Refused);
    let shown = read(Answer::Succeeded(ada()));
    let seen_late = clean(&[read(Answer::Pending), again, shown]);
    let seen_later = clean(&[
        read(Answer::Pending),
        read(Answer::Pending),
        read(Answer::Succeeded(ada())),
    ]);
    let with_outage = |history: &History| {
        let mut history = history.clone();
        history.outages.push(Outage {
            from_ns: history.operations[3].invoked_ns + 1,
            until_ns: history.operations[4].completed_ns,
        });
        history
    };
    assert_wrong(&seen_late, "a login was lost");
    assert_wrong(&with_outage(&seen_later), "without a sign-in");
    assert_right(&with_outage(&seen_late));
    let mut twice = with_outage(&seen_late);
    let again = twice.operations[6].clone();
    twice.operations.push(Operation {
        invoked_ns: again.completed_ns + 1,
        completed_ns: again.completed_ns + 2,
        ..again
    });
    assert_wrong(&twice, "twice");
}

#[test]
fn an_unavailable_broker_has_a_reason() {
    let mut unavailable = clean(&[(READ, Outcome::Unavailable), read(Answer::Succeeded(ada()))]);
    assert_wrong(&unavailable, "nothing was down");
    unavailable.operations[4].is_settled = false;
    assert_right(&unavailable);
}
