//! Sweeping: deletes no row that a rule could still see, and few rows at once. And two
//! brokers on one database whose clocks differ by half a minute. Single use stays single use.
//! Each broker applies an expiry by its own clock, and the end of a session, a code or a
//! token is stored by the broker that creates it.
//!
//! A consumed upstream login is remembered for a minute after its end. If clocks differed
//! by more, it could be consumed twice.

use broker::model::login_session::{LoginOutcome, NotAdmitted};
use broker::store::{Consumed, Opened};
use contract::{LoginError, Rule};

use super::test_store::{
    CONSUMED, EXPIRED, Exchange, Read, TestStore, adas_profile, handle_of, login, redemption,
    upstream_login,
};
use crate::test_broker::ada;

// Threats: A39.
pub(super) async fn a_sweep_deletes_a_login_once_it_is_no_longer_known(store: TestStore) {
    store.open(1).await;
    for ms in [0, 600_000, 1_199_999] {
        store.at_ms(ms);
        assert_eq!(store.sweep().await, 0);
        assert!(store.find(1).await.is_some());
    }
    store.at_ms(1_200_000);
    assert_eq!(store.sweep().await, 1);
    assert_eq!(store.rows("logins").await, 0);
    assert_eq!(store.sweep().await, 0);
}

pub(super) async fn a_sweep_erases_a_profile_once_it_has_expired(store: TestStore) {
    store.open(1).await;
    store.succeed(1).await;
    store.at_ms(599_999);
    assert_eq!(store.sweep().await, 0);
    store.at_ms(600_000);
    assert_eq!(store.sweep().await, 1);
    assert_eq!(store.profiles("logins").await, 0);
    assert_eq!(store.rows("logins").await, 1, "a late browser is sent back");
    assert_eq!(store.consume_result(1).await, EXPIRED);
    assert_eq!(store.sweep().await, 0);
}

pub(super) async fn a_sweep_keeps_a_consumed_upstream_login_until_a_minute_after_its_end(
    store: TestStore,
) {
    let upstream_login = upstream_login(1, store.now().plus_ms(600_000));
    store.consume_upstream_login(&upstream_login).await;
    store.at_ms(659_999);
    assert_eq!(store.sweep().await, 0);
    // A request that read the clock just before the end must not consume it again.
    let consumed = store.consume_upstream_login(&upstream_login).await;
    assert_eq!(consumed, Consumed::Before);
    store.at_ms(660_000);
    assert_eq!(store.sweep().await, 1);
    assert_eq!(store.rows("spent_trips").await, 0);
}

pub(super) async fn a_sweep_keeps_a_code_without_its_profile_until_every_token_would_have_ended(
    store: TestStore,
) {
    store.issue(1).await;
    store.at_ms(59_999);
    assert_eq!(store.sweep().await, 0);
    assert_eq!(store.profiles("grants").await, 1);
    store.at_ms(60_000);
    assert_eq!(store.sweep().await, 1);
    assert_eq!(store.profiles("grants").await, 0);
    assert_eq!(store.redeem(1).await, Exchange::Refused(Rule::CodeExpiry));
    store.at_ms(959_999);
    assert_eq!(store.sweep().await, 0);
    assert_eq!(store.rows("grants").await, 1);
    store.at_ms(960_000);
    assert_eq!(store.sweep().await, 1);
    assert_eq!(store.rows("grants").await, 0);
}

pub(super) async fn the_refusal_of_an_ended_token_does_not_depend_on_the_sweeper(store: TestStore) {
    for (sweeps, begun) in [(true, 0), (false, 2_000_000)] {
        store.at_ms(begun);
        store.issue(1).await;
        store.at_ms(begun + 10_000);
        store.redeem(1).await;
        for (elapsed, profile) in [
            (910_000, Rule::BearerExpiry),
            (1_509_999, Rule::BearerExpiry),
            (1_510_000, Rule::BearerKnown),
        ] {
            store.at_ms(begun + elapsed);
            if sweeps {
                store.sweep().await;
            }
            assert_eq!(store.profile(1).await, Err(profile));
            let replay = store.redeem_with(redemption(1, 2, store.now())).await;
            assert_eq!(replay, Exchange::Refused(Rule::CodeKnown));
        }
        store.sweep().await;
        assert_eq!(store.rows("grants").await, 0);
    }
}

pub(super) async fn a_sweep_keeps_the_profile_of_a_token_that_has_not_ended(store: TestStore) {
    store.issue(1).await;
    store.redeem(1).await;
    for ms in [60_000, 899_999] {
        store.at_ms(ms);
        assert_eq!(store.sweep().await, 0);
        assert_eq!(store.profile(1).await, Ok(ada()));
    }
}

// Threats: A39.
pub(super) async fn a_sweep_deletes_a_bounded_number_of_rows(store: TestStore) {
    let openings = (0..=250_u8).flat_map(|key| [(key, false), (key, true)]);
    let mut steps = tokio::task::JoinSet::new();
    let total = 502;
    for (key, flip) in openings {
        // 502 different keys and handles out of 251 numbers.
        let mut login = login(key, handle_of(key), store.now());
        if flip {
            login.key = contract::Digest::derive("another", login.key.as_bytes());
            login.handle = contract::Digest::derive("another", login.handle.as_bytes());
        }
        let (inner, now) = (store.inner.clone(), store.now());
        steps.spawn(async move { inner.open(login, now).await.unwrap() });
        // The last of 502 would wait for a connection longer than a store lets it.
        if steps.len() == 64 {
            steps.join_next().await.unwrap().unwrap();
        }
    }
    steps.join_all().await;
    assert_eq!(store.rows("logins").await, total);
    store.at_ms(1_200_000);
    let first = store.sweep().await;
    assert!(0 < first && first < 502, "{first} rows at once");
    let mut swept = first;
    while swept < 502 {
        let more = store.sweep().await;
        assert!(more > 0, "the rest is never deleted");
        swept += more;
    }
    assert_eq!(store.rows("logins").await, 0);
}

/// Half of the difference that is tolerated. With all of it, a code would have expired
/// at this broker before it was issued.
const AHEAD_MS: i64 = 30_000;

// Threats: L3.
pub(super) async fn a_result_is_consumed_once_by_brokers_whose_clocks_differ(store: TestStore) {
    let ahead = store.ahead_by_ms(AHEAD_MS);
    for key in [1, 2] {
        store.open(key).await;
        store.succeed(key).await;
    }
    store.at_ms(569_999);
    assert_eq!(ahead.consume_result(1).await, adas_profile());
    assert_eq!(store.consume_result(1).await, CONSUMED);
    store.at_ms(570_000);
    let expired = ahead.consume_result(2).await;
    assert_eq!(expired, EXPIRED, "by its clock");
    assert_eq!(
        store.consume_result(2).await,
        adas_profile(),
        "by the right clock"
    );
}

// Threats: A28.
pub(super) async fn an_outcome_that_a_broker_ahead_erased_has_expired_at_all_brokers(
    store: TestStore,
) {
    let ahead = store.ahead_by_ms(AHEAD_MS);
    store.open(1).await;
    store.succeed(1).await;
    store.open(2).await;
    let denied = LoginOutcome::Failed(LoginError::AccessDenied);
    store.complete(2, denied.clone()).await;
    store.at_ms(570_000);
    while ahead.sweep().await > 0 {}
    for _ in 0..2 {
        assert_eq!(store.consume_result(1).await, EXPIRED);
    }
    let rejected = store.find(1).await.unwrap().reject(store.now());
    let is_over = matches!(rejected, NotAdmitted::Over { .. });
    assert!(is_over, "its browser goes back");
    let result = store.consume_result(2).await;
    assert_eq!(result, Read::Outcome(denied), "an error is not erased");
}

// Threats: L3.
pub(super) async fn a_code_is_redeemed_once_by_brokers_whose_clocks_differ(store: TestStore) {
    let ahead = store.ahead_by_ms(AHEAD_MS);
    for code in [1, 2] {
        store.issue(code).await;
    }
    store.at_ms(29_999);
    assert_eq!(ahead.redeem(1).await, Exchange::Token);
    assert_eq!(store.redeem(1).await, Exchange::Refused(Rule::CodeOnce));
    assert_eq!(ahead.profile(1).await, Err(Rule::BearerEnded));
    store.at_ms(30_000);
    let expired = ahead.redeem(2).await;
    assert_eq!(expired, Exchange::Refused(Rule::CodeExpiry), "by its clock");
    assert_eq!(store.redeem(2).await, Exchange::Token);
    // A code whose profile the broker ahead erased gets no token.
    store.issue(3).await;
    store.at_ms(60_000);
    while ahead.sweep().await > 0 {}
    let erased = store.redeem(3).await;
    assert_eq!(erased, Exchange::Refused(Rule::CodeExpiry));
    store.at_ms(929_999);
    assert_eq!(store.profile(2).await, Ok(ada()));
    assert_eq!(ahead.profile(2).await, Err(Rule::BearerExpiry));
}

// Threats: L3.
pub(super) async fn an_upstream_login_is_consumed_once_by_brokers_whose_clocks_differ(
    store: TestStore,
) {
    let ahead = store.ahead_by_ms(AHEAD_MS);
    let upstream_login = upstream_login(1, store.now().plus_ms(600_000));
    let consumed = store.consume_upstream_login(&upstream_login).await;
    assert_eq!(consumed, Consumed::Now);
    store.at_ms(599_999);
    while ahead.sweep().await > 0 {}
    let consumed = store.consume_upstream_login(&upstream_login).await;
    assert_eq!(consumed, Consumed::Before, "it is still remembered");
}

/// By the clock of the broker ahead, the first login has ended. Its key still belongs
/// to one login only.
pub(super) async fn a_key_belongs_to_one_login_even_if_clocks_differ(store: TestStore) {
    let ahead = store.ahead_by_ms(AHEAD_MS);
    store.open(1).await;
    store.succeed(1).await;
    store.at_ms(569_999);
    assert_eq!(ahead.open(1).await, Opened::KeyTaken);
    store.at_ms(570_000);
    assert_eq!(ahead.open(1).await, Opened::Fresh);
    let second = store.consume_result(1).await;
    assert_eq!(second, Read::Pending, "the first login is replaced");
    assert_eq!(store.open(1).await, Opened::KeyTaken);
    assert_eq!(store.rows("logins").await, 1);
}
