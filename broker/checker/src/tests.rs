//! The checker can fail: each false history is named for what is wrong with it, and the
//! true ones that look like it are explained. What a log shows of them as well (values that are
//! used twice, late, or lost) is in [`log`](crate::log)'s tests.

mod fixture;

use fixture::*;

use crate::history::{Flow, Operation, Outcome, User};
use crate::model::{Answer, Commit, Ending, Failure, Project, Step, Wrong};

#[test]
fn a_login_that_went_well_is_explained_in_both_flows() {
    let ends = [read(Answer::Succeeded(ada())), read(Answer::Refused)];
    assert_right(&logged(clean(&ends), CONSUMED));
    let ends = [
        redeem(Answer::Token),
        profile(Answer::Profile(ada())),
        answered(REVOKE, Answer::Revoked),
        profile(Answer::Unrecognised),
        redeem(Answer::Refused),
    ];
    assert_right(&logged(legacy(&ends), REVOKED));
}

#[test]
fn two_grants_are_wrong_even_when_they_overlap() {
    let mut twice = clean(&[
        read(Answer::Succeeded(ada())),
        read(Answer::Succeeded(ada())),
    ]);
    twice.operations[4].completed_ns = twice.operations[5].completed_ns;
    assert_wrong(&twice, "a result was returned twice");
}

#[test]
fn a_refusal_may_overlap_the_grant_and_not_come_before_it() {
    let mut overlapped = clean(&[read(Answer::Refused), read(Answer::Succeeded(ada()))]);
    assert_wrong(&overlapped, "a result was lost");
    overlapped.operations[4].completed_ns = overlapped.operations[5].completed_ns;
    assert_right(&overlapped);
}

#[test]
fn a_result_is_not_promised_once_it_is_there() {
    let mut meanwhile = clean(&[read(Answer::Pending)]);
    assert_wrong(
        &meanwhile,
        "a login was lost: it is pending, and its browser is back",
    );
    meanwhile.operations[3].completed_ns = meanwhile.operations[4].completed_ns;
    assert_right(&meanwhile);
}

#[test]
fn what_was_not_answered_stays_as_it_was_first_seen() {
    let consumed = [
        unknown(READ),
        read(Answer::Refused),
        read(Answer::Succeeded(ada())),
    ];
    assert_wrong(&clean(&consumed), "a result was returned twice");
}

#[test]
fn one_code_of_a_provider_is_exchanged_once() {
    let ends = [read(Answer::Succeeded(ada())), read(Answer::Refused)];
    let mut twice = logged(clean(&ends), CONSUMED);
    assert_right(&twice);
    twice.audit.as_mut().unwrap().exchanges = 2;
    assert_wrong(&twice, "2 exchanges");
}

#[test]
fn a_user_is_the_one_who_signed_in() {
    let bob = user("github", "2");
    let shown = clean(&[read(Answer::Succeeded(bob.clone()))]);
    assert_wrong(&shown, "the profile of another user");
    let shown = legacy(&[redeem(Answer::Token), profile(Answer::Profile(bob))]);
    assert_wrong(&shown, "the profile of another user");
    let renamed = User {
        subject: "sub_other".to_owned(),
        ..ada()
    };
    let shown = clean(&[read(Answer::Succeeded(renamed))]);
    assert_wrong(&shown, "the profile of another user");
    let declined = Ending::Error(Failure::Denied);
    let shown = clean_ending(declined, &[read(Answer::Succeeded(ada()))]);
    assert_wrong(&shown, "a login succeeded that should have failed");
}

#[test]
fn an_error_has_a_cause() {
    let failed = |ending, failure| clean_ending(ending, &[read(Answer::Failed(failure))]);
    assert_wrong(
        &failed(Ending::Success, Failure::Denied),
        "access_denied, which nothing caused",
    );
    let denied = Ending::Error(Failure::Denied);
    assert_right(&failed(denied, Failure::Denied));
    assert_wrong(
        &failed(denied, Failure::Invalid),
        "invalid_provider_response, which nothing caused",
    );
    let mut either = failed(Ending::Success, Failure::Unavailable);
    assert_wrong(&either, "which nothing caused");
    let bad_code = Ending::BadCode(Failure::Unavailable);
    either.operations[2].steps.push(Step::sign_in(1, bad_code));
    assert_right(&either);
}

#[test]
fn another_verifier_another_browser_and_another_answer_are_named() {
    let other_verifier = Step::redeem(1, Project::A, Some(Wrong::Verifier));
    let forged = [answered(other_verifier, Answer::Token)];
    assert_wrong(&legacy(&forged), "another verifier");
    let intruded = [
        answered(start(1), Answer::Started),
        answered(visit(ANN, 1), Answer::ToProvider),
        answered(visit(BOB, 2), Answer::ToProvider),
    ];
    assert_wrong(
        &history(Flow::Clean, &intruded),
        "another browser was let into the login",
    );
    let strayed = [
        answered(authorize(), Answer::ToProvider),
        sign_in(Ending::Success),
        answered(deliver(BOB), Answer::CallbackWithCode),
    ];
    assert_wrong(
        &history(Flow::Legacy, &strayed),
        "a callback counted in another browser",
    );
    let strange = Outcome::Unexpected("GET /x answered 200".to_owned());
    assert_wrong(&clean(&[(READ, strange)]), "no answer to Read");
}

#[test]
fn a_cancelled_login_is_denied() {
    let cancel = Step::Cancel { login: 1, by: ANN };
    let unvouched = Step::VisitUnvouched { login: 1, by: ANN };
    let cancelled = |end| {
        let lines = [
            answered(start(1), Answer::Started),
            answered(unvouched, Answer::ConfirmationPage),
            answered(cancel, Answer::ToCallback),
            read(end),
        ];
        history(Flow::Clean, &lines)
    };
    assert_right(&cancelled(Answer::Failed(Failure::Denied)));
    assert_wrong(&cancelled(Answer::Pending), "a login was lost");
}

#[test]
fn a_history_can_be_read() {
    let mut history = legacy(&[redeem(Answer::Token), profile(Answer::Profile(ada()))]);
    history.operations[3].is_settled = false;
    let text = history.to_string();
    for part in [
        "login 1, legacy, at github",
        "Token (the broker was restarted)",
    ] {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn a_time_that_is_in_doubt_is_held_against_nothing() {
    // The code was issued and redeemed within half a second each.
    let doubtful = CODE_LIFETIME_MS - SECOND_MS;
    for answer in [Answer::Token, Answer::Refused] {
        assert_right(&late(legacy(&[redeem(answer)]), 3, doubtful));
    }
    let refused = late(legacy(&[redeem(Answer::Refused)]), 3, CODE_LIFETIME_MS);
    assert_right(&refused);
}

#[test]
fn a_token_that_was_ended_opens_nothing() {
    let after = |end: Line| legacy(&[redeem(Answer::Token), end, profile(Answer::Profile(ada()))]);
    assert_wrong(&after(redeem(Answer::Refused)), "a token outlived its end");
    // The revocation may not have reached the broker.
    assert_right(&after(unknown(REVOKE)));
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
    assert_right(&logged(legacy(&lost), REVOKED));
    assert_right(&late(logged(legacy(&lost), REVOKED), 4, CODE_LIFETIME_MS));
    assert_wrong(&logged(legacy(&lost), ISSUED), "code_redeemed 0 times");
    let granted = [unknown(READ), read(Answer::Succeeded(ada()))];
    assert_right(&logged(clean(&granted), CONSUMED));
}

#[test]
fn a_broker_that_dies_may_not_have_logged_what_it_did() {
    let mut died = logged(clean(&[unknown(READ), read(Answer::Refused)]), COMPLETED);
    died.operations[4].is_settled = false;
    assert_right(&died);
    let mut halfway = logged(clean(&[read(Answer::Pending)]), &COMPLETED[..3]);
    halfway.operations[3].is_settled = false;
    halfway.operations[3].outcome = Outcome::Unknown;
    assert_right(&halfway);
}

#[test]
fn a_dead_database_costs_the_outcomes_on_their_way_to_it_and_no_more() {
    let pending = clean(&[read(Answer::Pending)]);
    assert_right(&with_outage(pending.clone(), 3, 3));
    assert_wrong(&with_outage(pending, 2, 2), "a login was lost");
    let refused = clean(&[read(Answer::Refused)]);
    assert_wrong(&with_outage(refused, 3, 3), "lost");
    let unkept = [
        answered(authorize(), Answer::ToProvider),
        sign_in(Ending::Success),
        answered(
            deliver(ANN),
            Answer::CallbackWithError(Failure::Unavailable),
        ),
    ];
    let unkept = history(Flow::Legacy, &unkept);
    assert_right(&with_outage(unkept.clone(), 2, 2));
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
    assert_wrong(&seen_late, "a login was lost");
    assert_wrong(&with_outage(seen_later, 3, 4), "without a sign-in");
    let mut twice = with_outage(seen_late, 3, 4);
    assert_right(&twice);
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
