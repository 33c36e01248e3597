//! Grants: a handoff code, then the access token it was redeemed for.

use broker::model::grant::Redemption;
use broker::store::{Redeemed, Revoked};
use contract::Rule;

use super::test_store::{
    CALLBACK, Exchange, TestStore, callback, grant, project, redemption, verifier,
};
use crate::test_broker::ada;

fn refused(rule: Rule) -> Exchange {
    Exchange::Refused(rule)
}

pub(super) async fn a_code_becomes_a_token_that_opens_the_profile(store: TestStore) {
    store.issue(1).await;
    assert_eq!(store.redeem(1).await, Exchange::Token);
    let token = store.token(1).await.unwrap();
    assert_eq!(token.project, project("ada"));
    assert_eq!(token.ends, store.now().plus_ms(900_000));
    assert_eq!(token.login, grant(1, store.now()).login);
    assert_eq!(token.open(store.now()), Ok(ada()));
    assert_eq!(
        store.profile(1).await,
        Ok(ada()),
        "reading does not consume"
    );
}

// Threats: A10.
pub(super) async fn a_code_is_redeemed_within_its_60_seconds(store: TestStore) {
    store.issue(1).await;
    store.issue(2).await;
    store.at_ms(59_999);
    assert_eq!(store.redeem(1).await, Exchange::Token);
    store.at_ms(60_000);
    assert_eq!(store.redeem(2).await, refused(Rule::CodeExpiry));
    assert!(store.token(2).await.is_none());
}

pub(super) async fn a_code_that_expired_stays_expired(store: TestStore) {
    store.issue(1).await;
    for ms in [60_000, 60_001, 959_999] {
        store.at_ms(ms);
        assert_eq!(store.redeem(1).await, refused(Rule::CodeExpiry));
    }
    store.at_ms(960_000);
    assert_eq!(store.redeem(1).await, refused(Rule::CodeKnown));
}

/// Redemptions of code 1 for token 9, each with one wrong parameter, and the rule that
/// it breaks.
fn wrong_redemptions(store: &TestStore) -> [(Rule, Redemption); 3] {
    let with = |rule, change: fn(&mut Redemption)| {
        let mut redemption = redemption(1, 9, store.now());
        change(&mut redemption);
        (rule, redemption)
    };
    [
        with(Rule::CodeClient, |it| it.project = project("bob")),
        with(Rule::CodeCallback, |it| {
            it.callback = callback("https://app.example/other").digest();
        }),
        with(Rule::CodeVerifier, |it| {
            it.challenge = verifier(9).challenge();
        }),
    ]
}

// Threats: A7, CVE-2022-39263.
pub(super) async fn another_project_callback_or_verifier_leaves_the_code_alone(store: TestStore) {
    store.issue(1).await;
    for (rule, wrong) in wrong_redemptions(&store) {
        let redeemed = store.inner.redeem(wrong, store.now()).await.unwrap();
        let Redeemed::Refused(broken, Some(login)) = redeemed else {
            panic!("{redeemed:?}");
        };
        assert_eq!(broken, rule);
        assert_eq!(login, grant(1, store.now()).login);
        assert!(store.token(9).await.is_none());
    }
    assert_eq!(store.redeem(1).await, Exchange::Token);
    assert_eq!(store.profile(1).await, Ok(ada()));
}

// Threats: A9.
pub(super) async fn another_project_callback_or_verifier_leaves_the_token_alone(store: TestStore) {
    store.issue(1).await;
    store.redeem(1).await;
    for (rule, wrong) in wrong_redemptions(&store) {
        assert_eq!(store.redeem_with(wrong).await, refused(rule));
        assert_eq!(store.profile(1).await, Ok(ada()));
    }
}

pub(super) async fn what_was_never_issued_is_unknown_and_changes_nothing(store: TestStore) {
    store.issue(1).await;
    store.redeem(1).await;
    assert_eq!(store.redeem(2).await, refused(Rule::CodeKnown));
    assert!(store.token(2).await.is_none());
    assert_eq!(store.revoke(2).await, Revoked::Before(None));
    assert_eq!(store.profile(1).await, Ok(ada()));
}

/// For another token, for the same one, and after the code's own 60 seconds.
pub(super) async fn a_second_valid_redemption_is_refused_and_ends_the_token(store: TestStore) {
    for (code, token, redeemed_at, again_at) in
        [(1, 9, 0, 0), (2, 2, 0, 0), (3, 9, 59_999, 959_998)]
    {
        store.at_ms(0);
        store.issue(code).await;
        store.at_ms(redeemed_at);
        store.redeem(code).await;
        store.at_ms(again_at);
        assert_eq!(store.profile(code).await, Ok(ada()));
        for is_ended in [false, true] {
            let again = redemption(code, token, store.now());
            let redeemed = store.inner.redeem(again, store.now()).await.unwrap();
            let (Redeemed::Replayed(login) | Redeemed::Refused(Rule::CodeOnce, Some(login))) =
                &redeemed
            else {
                panic!("{redeemed:?}");
            };
            assert_eq!(*login, grant(code, store.now()).login);
            assert_eq!(matches!(redeemed, Redeemed::Refused(..)), is_ended);
            assert_eq!(store.profile(code).await, Err(Rule::BearerEnded));
            assert!(token == code || store.token(token).await.is_none());
            assert_eq!(store.profiles("grants").await, 0);
        }
    }
}

pub(super) async fn a_token_lives_900_seconds_from_its_redemption(store: TestStore) {
    store.issue(1).await;
    store.at_ms(30_000);
    store.redeem(1).await;
    store.at_ms(929_999);
    assert_eq!(store.profile(1).await, Ok(ada()));
    store.at_ms(930_000);
    assert_eq!(store.profile(1).await, Err(Rule::BearerExpiry));
}

// Threats: A24.
pub(super) async fn a_code_does_not_work_as_a_token(store: TestStore) {
    store.issue(1).await;
    let code = grant(1, store.now()).code;
    let find_token = async || store.inner.token(code, store.now()).await.unwrap();
    assert!(find_token().await.is_none());
    let revoked = store.inner.revoke(code, store.now()).await.unwrap();
    assert_eq!(revoked, Revoked::Before(None));
    store.redeem(1).await;
    assert!(find_token().await.is_none());
}

pub(super) async fn a_revoked_token_has_ended_and_its_profile_leaves_the_row(store: TestStore) {
    store.issue(1).await;
    store.redeem(1).await;
    assert_eq!(store.profiles("grants").await, 1);
    assert_eq!(
        store.revoke(1).await,
        Revoked::Now(grant(1, store.now()).login)
    );
    assert_eq!(store.profile(1).await, Err(Rule::BearerEnded));
    assert_eq!(store.profiles("grants").await, 0);
    // Its code is not free again.
    let again = store.redeem_with(redemption(1, 2, store.now())).await;
    assert_eq!(again, refused(Rule::CodeOnce));
    assert_eq!(store.profile(2).await, Err(Rule::BearerKnown));
}

pub(super) async fn revoking_twice_is_revoking_once(store: TestStore) {
    store.issue(1).await;
    store.redeem(1).await;
    let login = grant(1, store.now()).login;
    assert_eq!(store.revoke(1).await, Revoked::Now(login.clone()));
    assert_eq!(store.revoke(1).await, Revoked::Before(Some(login)));
}

pub(super) async fn what_has_expired_is_not_revoked_but_erased(store: TestStore) {
    store.issue(1).await;
    store.redeem(1).await;
    store.at_ms(900_000);
    let login = grant(1, store.now()).login;
    assert_eq!(store.revoke(1).await, Revoked::Before(Some(login)));
    assert_eq!(store.profiles("grants").await, 0);
}

pub(super) async fn two_grants_do_not_affect_each_other(store: TestStore) {
    store.issue(1).await;
    store.issue(2).await;
    store.redeem(1).await;
    store.redeem(2).await;
    store.revoke(1).await;
    assert_eq!(store.profile(1).await, Err(Rule::BearerEnded));
    assert_eq!(store.profile(2).await, Ok(ada()));
    assert_eq!(callback(CALLBACK).digest(), grant(2, store.now()).callback);
}

pub(super) async fn the_same_code_cannot_be_issued_twice(store: TestStore) {
    store.issue(1).await;
    let again = grant(1, store.now());
    assert!(store.inner.issue(again).await.is_err());
    assert_eq!(store.redeem(1).await, Exchange::Token);
}
