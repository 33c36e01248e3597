//! Values that may be granted once.

use super::fixture::{
    ANN, CONSUMED, READ, REDEEMED, REVOKE, ada, answered, assert_right, assert_wrong, clean,
    deliver, history, legacy, logged, profile, read, redeem, start, unknown,
};
use crate::history::Flow;
use crate::model::Answer;

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
    assert_right(&logged(legacy(&ends), REDEEMED));
}

#[test]
fn nothing_is_granted_twice() {
    let twice = [
        read(Answer::Succeeded(ada())),
        read(Answer::Succeeded(ada())),
    ];
    assert_wrong(&clean(&twice), "a result was returned twice");
    let twice = [redeem(Answer::Token), redeem(Answer::Token)];
    assert_wrong(&legacy(&twice), "a code was redeemed twice");
    let twice = [answered(deliver(ANN), Answer::CallbackWithCode)];
    assert_wrong(&legacy(&twice), "an upstream login was accepted twice");
    let twice = [
        answered(start(1), Answer::Started),
        answered(start(2), Answer::Started),
    ];
    assert_wrong(
        &history(Flow::Clean, &twice),
        "a session key was accepted twice",
    );
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
fn a_result_is_not_promised_once_it_is_there_or_gone() {
    assert_wrong(
        &clean(&[read(Answer::Pending)]),
        "a login was lost: it is pending, and its browser is back",
    );
    let gone = [read(Answer::Succeeded(ada())), read(Answer::Pending)];
    assert_wrong(&clean(&gone), "a result was promised after it was gone");
    let mut meanwhile = clean(&[read(Answer::Pending)]);
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
