//! Grants: a handoff code, then the access token it was redeemed for.

use broker::model::grant::Redemption;
use broker::store::Redeemed;
use contract::Rule;

use super::bench::{Bench, CALLBACK, Exchange, callback, grant, project, redemption, verifier};
use crate::users::ada;

fn refused(rule: Rule) -> Exchange {
    Exchange::Refused(rule)
}

pub(super) async fn a_code_becomes_a_token_that_opens_the_profile(bench: Bench) {
    bench.issue(1).await;
    assert_eq!(bench.redeem(1).await, Exchange::Token);
    let token = bench.token(1).await.unwrap();
    assert_eq!(token.project, project("ada"));
    assert_eq!(token.ends, bench.now().plus_ms(900_000));
    assert_eq!(token.login, grant(1, bench.now()).login);
    assert_eq!(token.open(bench.now()), Ok(ada()));
    assert_eq!(
        bench.profile(1).await,
        Ok(ada()),
        "reading does not consume"
    );
}

pub(super) async fn a_code_is_redeemed_within_its_60_seconds(bench: Bench) {
    bench.issue(1).await;
    bench.issue(2).await;
    bench.at_ms(59_999);
    assert_eq!(bench.redeem(1).await, Exchange::Token);
    bench.at_ms(60_000);
    assert_eq!(bench.redeem(2).await, refused(Rule::CodeExpiry));
    assert!(bench.token(2).await.is_none());
}

pub(super) async fn a_code_that_expired_stays_expired(bench: Bench) {
    bench.issue(1).await;
    for ms in [60_000, 60_001, 959_999] {
        bench.at_ms(ms);
        assert_eq!(bench.redeem(1).await, refused(Rule::CodeExpiry));
    }
    bench.at_ms(960_000);
    assert_eq!(bench.redeem(1).await, refused(Rule::CodeKnown));
}

pub(super) async fn a_code_that_nobody_issued_is_unknown(bench: Bench) {
    bench.issue(1).await;
    assert_eq!(bench.redeem(2).await, refused(Rule::CodeKnown));
}

/// Redeems code 1 once with something wrong in it, then as it should be.
async fn check_untouched(bench: Bench, rule: Rule, spoil: impl FnOnce(Redemption) -> Redemption) {
    bench.issue(1).await;
    let wrong = spoil(redemption(1, 9, bench.now()));
    let answer = bench.store.redeem(wrong, bench.now()).await.unwrap();
    let Redeemed::Refused(broken, Some(login)) = answer else {
        panic!("{answer:?}");
    };
    assert_eq!(broken, rule);
    assert_eq!(login, grant(1, bench.now()).login);
    assert!(bench.token(9).await.is_none());
    assert_eq!(bench.redeem(1).await, Exchange::Token);
    assert_eq!(bench.profile(1).await, Ok(ada()));
}

pub(super) async fn another_project_leaves_the_code_untouched(bench: Bench) {
    check_untouched(bench, Rule::CodeClient, |right| Redemption {
        project: project("bob"),
        ..right
    })
    .await;
}

pub(super) async fn another_callback_leaves_the_code_untouched(bench: Bench) {
    check_untouched(bench, Rule::CodeCallback, |right| Redemption {
        callback: callback("https://app.example/other").digest(),
        ..right
    })
    .await;
}

pub(super) async fn another_verifier_leaves_the_code_untouched(bench: Bench) {
    check_untouched(bench, Rule::CodeVerifier, |right| Redemption {
        challenge: verifier(9).challenge(),
        ..right
    })
    .await;
}

pub(super) async fn a_second_valid_redemption_is_refused_and_ends_the_token(bench: Bench) {
    bench.issue(1).await;
    bench.redeem(1).await;
    let again = redemption(1, 2, bench.now());
    let answer = bench.store.redeem(again, bench.now()).await.unwrap();
    let Redeemed::Refused(Rule::CodeOnce, Some(login)) = answer else {
        panic!("{answer:?}");
    };
    assert_eq!(login, grant(1, bench.now()).login);
    assert_eq!(bench.profile(1).await, Err(Rule::BearerEnded));
    assert_eq!(bench.profile(2).await, Err(Rule::BearerKnown));
}

pub(super) async fn a_second_redemption_after_the_codes_60_seconds_ends_the_token_too(
    bench: Bench,
) {
    bench.issue(1).await;
    bench.at_ms(59_999);
    bench.redeem(1).await;
    bench.at_ms(959_998);
    assert_eq!(bench.profile(1).await, Ok(ada()));
    let again = redemption(1, 2, bench.now());
    assert_eq!(bench.redeem_as(again).await, refused(Rule::CodeOnce));
    assert_eq!(bench.profile(1).await, Err(Rule::BearerEnded));
}

pub(super) async fn a_second_redemption_with_something_wrong_leaves_the_token_alive(bench: Bench) {
    bench.issue(1).await;
    bench.redeem(1).await;
    let again = || redemption(1, 2, bench.now());
    let spoiled = [
        (
            Redemption {
                project: project("bob"),
                ..again()
            },
            Rule::CodeClient,
        ),
        (
            Redemption {
                callback: callback("https://app.example/other").digest(),
                ..again()
            },
            Rule::CodeCallback,
        ),
        (
            Redemption {
                challenge: verifier(9).challenge(),
                ..again()
            },
            Rule::CodeVerifier,
        ),
    ];
    for (redemption, rule) in spoiled {
        assert_eq!(bench.redeem_as(redemption).await, refused(rule));
        assert_eq!(bench.profile(1).await, Ok(ada()));
    }
}

pub(super) async fn a_third_redemption_brings_nothing_back(bench: Bench) {
    bench.issue(1).await;
    for token in [1, 2, 3] {
        let again = redemption(1, token, bench.now());
        bench.redeem_as(again).await;
    }
    assert_eq!(bench.profile(1).await, Err(Rule::BearerEnded));
    assert_eq!(bench.profile(3).await, Err(Rule::BearerKnown));
    assert_eq!(
        bench.redeem_as(redemption(1, 4, bench.now())).await,
        refused(Rule::CodeOnce)
    );
}

pub(super) async fn a_token_lives_900_seconds_from_its_redemption(bench: Bench) {
    bench.issue(1).await;
    bench.at_ms(30_000);
    bench.redeem(1).await;
    bench.at_ms(929_999);
    assert_eq!(bench.profile(1).await, Ok(ada()));
    bench.at_ms(930_000);
    assert_eq!(bench.profile(1).await, Err(Rule::BearerExpiry));
}

pub(super) async fn a_token_that_nobody_issued_is_unknown(bench: Bench) {
    bench.issue(1).await;
    bench.redeem(1).await;
    assert!(bench.token(2).await.is_none());
}

pub(super) async fn a_code_is_no_token(bench: Bench) {
    bench.issue(1).await;
    let code = grant(1, bench.now()).code;
    assert!(
        bench
            .store
            .token(code, bench.now())
            .await
            .unwrap()
            .is_none()
    );
    assert_eq!(bench.store.revoke(code).await.unwrap(), None);
    bench.redeem(1).await;
    assert!(
        bench
            .store
            .token(code, bench.now())
            .await
            .unwrap()
            .is_none()
    );
}

pub(super) async fn a_revoked_token_opens_nothing(bench: Bench) {
    bench.issue(1).await;
    bench.redeem(1).await;
    assert_eq!(bench.revoke(1).await, Some(grant(1, bench.now()).login));
    assert_eq!(bench.profile(1).await, Err(Rule::BearerEnded));
}

pub(super) async fn revoking_twice_is_revoking_once(bench: Bench) {
    bench.issue(1).await;
    bench.redeem(1).await;
    let first = bench.revoke(1).await;
    assert_eq!(bench.revoke(1).await, first);
    bench.at_ms(900_000);
    assert_eq!(bench.revoke(1).await, first, "also once it has expired");
}

pub(super) async fn revoking_an_unknown_token_changes_nothing(bench: Bench) {
    bench.issue(1).await;
    bench.redeem(1).await;
    assert_eq!(bench.revoke(2).await, None);
    assert_eq!(bench.profile(1).await, Ok(ada()));
}

pub(super) async fn a_revoked_token_does_not_free_its_code(bench: Bench) {
    bench.issue(1).await;
    bench.redeem(1).await;
    bench.revoke(1).await;
    let again = redemption(1, 2, bench.now());
    assert_eq!(bench.redeem_as(again).await, refused(Rule::CodeOnce));
    assert_eq!(bench.profile(2).await, Err(Rule::BearerKnown));
}

pub(super) async fn a_profile_leaves_its_row_when_the_token_is_revoked(bench: Bench) {
    bench.issue(1).await;
    bench.redeem(1).await;
    assert_eq!(bench.profiles("grants").await, 1);
    bench.revoke(1).await;
    assert_eq!(bench.profiles("grants").await, 0);
}

pub(super) async fn a_profile_leaves_its_row_when_the_token_ends_by_a_replay(bench: Bench) {
    bench.issue(1).await;
    bench.redeem(1).await;
    bench.redeem(1).await;
    assert_eq!(bench.profiles("grants").await, 0);
}

pub(super) async fn two_grants_do_not_touch_each_other(bench: Bench) {
    bench.issue(1).await;
    bench.issue(2).await;
    bench.redeem(1).await;
    bench.redeem(2).await;
    bench.revoke(1).await;
    assert_eq!(bench.profile(1).await, Err(Rule::BearerEnded));
    assert_eq!(bench.profile(2).await, Ok(ada()));
    assert_eq!(callback(CALLBACK).digest(), grant(2, bench.now()).callback);
}

pub(super) async fn the_same_code_cannot_be_issued_twice(bench: Bench) {
    bench.issue(1).await;
    let again = grant(1, bench.now());
    assert!(bench.store.issue(again).await.is_err());
    assert_eq!(bench.redeem(1).await, Exchange::Token);
}
