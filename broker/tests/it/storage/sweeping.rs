//! Sweeping: nothing that a rule could still see, and not too much at once.

use broker::model::login_session::LoginOutcome;
use broker::store::Consumed;
use contract::{LoginError, Rule};

use super::bench::{Bench, Exchange, Read, handle_of, login, redemption, upstream_login};
use crate::users::ada;

pub(super) async fn an_empty_store_has_nothing_to_sweep(bench: Bench) {
    assert_eq!(bench.sweep().await, 0);
}

pub(super) async fn a_sweep_takes_no_login_that_is_still_known(bench: Bench) {
    bench.open(1).await;
    for ms in [0, 600_000, 1_199_999] {
        bench.at_ms(ms);
        assert_eq!(bench.sweep().await, 0);
        assert!(bench.find(1).await.is_some());
    }
}

pub(super) async fn a_sweep_takes_a_login_that_nobody_can_see(bench: Bench) {
    bench.open(1).await;
    bench.at_ms(1_200_000);
    assert_eq!(bench.sweep().await, 1);
    assert_eq!(bench.rows("logins").await, 0);
    assert_eq!(bench.sweep().await, 0);
}

pub(super) async fn a_sweep_erases_a_profile_that_nobody_can_read(bench: Bench) {
    bench.open(1).await;
    bench.finish(1).await;
    bench.at_ms(600_000);
    assert_eq!(bench.sweep().await, 1);
    assert_eq!(bench.profiles("logins").await, 0);
    assert_eq!(bench.rows("logins").await, 1, "a late browser gets home");
    assert_eq!(
        bench.consume_result(1).await,
        Read::Refused(Rule::ResultExpiry)
    );
    assert_eq!(bench.sweep().await, 0);
}

pub(super) async fn a_sweep_spares_a_profile_that_can_still_be_read(bench: Bench) {
    bench.open(1).await;
    bench.open(2).await;
    bench.finish(1).await;
    let denied = LoginOutcome::Failed(LoginError::AccessDenied);
    bench.complete(2, denied.clone()).await;
    bench.at_ms(599_999);
    assert_eq!(bench.sweep().await, 0);
    assert_eq!(
        bench.consume_result(1).await,
        Read::Outcome(LoginOutcome::Succeeded(ada()))
    );
    assert_eq!(bench.consume_result(2).await, Read::Outcome(denied));
}

pub(super) async fn a_sweep_spares_a_spent_upstream_login_until_a_minute_after_its_end(
    bench: Bench,
) {
    let upstream_login = upstream_login(1, bench.now().plus_ms(600_000));
    bench.consume_upstream_login(&upstream_login).await;
    bench.at_ms(659_999);
    assert_eq!(bench.sweep().await, 0);
    assert_eq!(
        bench.consume_upstream_login(&upstream_login).await,
        Consumed::Before,
        "a request that looked at the time a moment ago must not spend it again"
    );
    bench.at_ms(660_000);
    assert_eq!(bench.sweep().await, 1);
    assert_eq!(bench.rows("spent_trips").await, 0);
}

pub(super) async fn a_sweep_spares_a_code_until_no_token_of_it_could_live(bench: Bench) {
    bench.issue(1).await;
    bench.at_ms(60_000);
    bench.sweep().await;
    assert_eq!(bench.redeem(1).await, Exchange::Refused(Rule::CodeExpiry));
    bench.at_ms(959_999);
    bench.sweep().await;
    assert_eq!(bench.rows("grants").await, 1);
    bench.at_ms(960_000);
    assert_eq!(bench.sweep().await, 1);
    assert_eq!(bench.rows("grants").await, 0);
}

pub(super) async fn what_is_said_of_an_ended_token_does_not_depend_on_the_sweeper(bench: Bench) {
    for (sweeps, begun) in [(true, 0), (false, 2_000_000)] {
        bench.at_ms(begun);
        bench.issue(1).await;
        bench.at_ms(begun + 10_000);
        bench.redeem(1).await;
        for (elapsed, profile) in [
            (910_000, Rule::BearerExpiry),
            (1_509_999, Rule::BearerExpiry),
            (1_510_000, Rule::BearerKnown),
        ] {
            bench.at_ms(begun + elapsed);
            if sweeps {
                bench.sweep().await;
            }
            assert_eq!(bench.profile(1).await, Err(profile));
            let replay = redemption(1, 2, bench.now());
            assert_eq!(
                bench.redeem_as(replay).await,
                Exchange::Refused(Rule::CodeKnown)
            );
        }
        bench.sweep().await;
        assert_eq!(bench.rows("grants").await, 0);
    }
}

pub(super) async fn a_replay_is_recognised_as_long_as_the_token_could_live(bench: Bench) {
    bench.issue(1).await;
    bench.at_ms(10_000);
    bench.redeem(1).await;
    bench.at_ms(909_999);
    assert_eq!(bench.sweep().await, 0);
    let replay = redemption(1, 2, bench.now());
    assert_eq!(
        bench.redeem_as(replay).await,
        Exchange::Refused(Rule::CodeOnce)
    );
}

pub(super) async fn a_sweep_erases_the_profile_of_a_code_that_nobody_redeemed(bench: Bench) {
    bench.issue(1).await;
    bench.at_ms(59_999);
    assert_eq!(bench.sweep().await, 0);
    assert_eq!(bench.profiles("grants").await, 1);
    bench.at_ms(60_000);
    assert_eq!(bench.sweep().await, 1);
    assert_eq!(bench.profiles("grants").await, 0);
    assert_eq!(bench.sweep().await, 0);
}

pub(super) async fn a_sweep_spares_the_profile_of_a_living_token(bench: Bench) {
    bench.issue(1).await;
    bench.redeem(1).await;
    for ms in [60_000, 899_999] {
        bench.at_ms(ms);
        assert_eq!(bench.sweep().await, 0);
        assert_eq!(bench.profile(1).await, Ok(ada()));
    }
}

pub(super) async fn a_sweep_takes_a_bounded_number_of_rows(bench: Bench) {
    let openings = (0..=250_u8).flat_map(|key| [(key, false), (key, true)]);
    let mut steps = tokio::task::JoinSet::new();
    let total = 502;
    for (key, flip) in openings {
        // 502 different keys and handles out of 251 numbers.
        let mut login = login(key, handle_of(key), "ada", bench.now());
        if flip {
            login.key = contract::Digest::derive("another", login.key.as_bytes());
            login.handle = contract::Digest::derive("another", login.handle.as_bytes());
        }
        let (store, now) = (bench.store.clone(), bench.now());
        steps.spawn(async move { store.open(login, now).await.unwrap() });
    }
    steps.join_all().await;
    assert_eq!(bench.rows("logins").await, total);
    bench.at_ms(1_200_000);
    let first = bench.sweep().await;
    assert!(0 < first && first < 502, "{first} rows at once");
    let mut swept = first;
    while swept < 502 {
        let more = bench.sweep().await;
        assert!(more > 0, "the rest is never swept");
        swept += more;
    }
    assert_eq!(bench.rows("logins").await, 0);
}
