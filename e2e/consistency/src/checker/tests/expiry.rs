//! The ends of results, codes, tokens and session keys.

use super::fixture::{
    CODE_LIFETIME_MS, LOGIN_LIFETIME_MS, Line, REVOKE, SECOND_MS, TOKEN_LIFETIME_MS, ada, answered,
    assert_right, assert_wrong, clean, history, late, legacy, profile, read, redeem, start,
    unknown,
};
use crate::history::Flow;
use crate::model::Answer;

#[test]
fn nothing_outlives_its_time() {
    let was_read = clean(&[read(Answer::Succeeded(ada()))]);
    assert_right(&was_read);
    let over = late(was_read, 4, LOGIN_LIFETIME_MS);
    assert_wrong(&over, "a result was returned after its end");
    let redeemed = legacy(&[redeem(Answer::Token)]);
    let over = late(redeemed, 3, CODE_LIFETIME_MS);
    assert_wrong(&over, "a code was redeemed after its end");
    let shown = legacy(&[redeem(Answer::Token), profile(Answer::Profile(ada()))]);
    let over = late(shown, 4, TOKEN_LIFETIME_MS);
    assert_wrong(&over, "a token outlived its end");
    let refused = late(legacy(&[redeem(Answer::Refused)]), 3, CODE_LIFETIME_MS);
    assert_right(&refused);
}

#[test]
fn a_time_that_is_in_doubt_is_held_against_nothing() {
    // The code was issued and redeemed within half a second each.
    let doubtful = CODE_LIFETIME_MS - SECOND_MS;
    for answer in [Answer::Token, Answer::Refused] {
        assert_right(&late(legacy(&[redeem(answer)]), 3, doubtful));
    }
}

#[test]
fn a_key_is_free_again_after_its_login() {
    let again = history(
        Flow::Clean,
        &[
            answered(start(1), Answer::Started),
            answered(start(2), Answer::Started),
        ],
    );
    assert_wrong(&again, "a session key was accepted twice");
    assert_right(&late(again, 1, LOGIN_LIFETIME_MS));
}

#[test]
fn a_token_that_was_ended_opens_nothing() {
    let after = |end: Line| legacy(&[redeem(Answer::Token), end, profile(Answer::Profile(ada()))]);
    let revoked = after(answered(REVOKE, Answer::Revoked));
    assert_wrong(&revoked, "a token outlived its end");
    assert_wrong(&after(redeem(Answer::Refused)), "a token outlived its end");
    // The revocation may not have reached the broker.
    assert_right(&after(unknown(REVOKE)));
}
