//! 64 calls of one step at once, through two stores on one database: one succeeds.

use std::future::Future;
use std::sync::Arc;

use broker::model::login_session::{LoginOutcome, SessionStatus};
use broker::store::{Bound, Completed, Consumed, Opened, Redeemed, Revoked};
use contract::{Digest, LoginError, Rule};
use tokio::sync::Barrier;

use super::test_store::{
    CONSUMED, Exchange, Read, SharedStore, TestStore, adas_profile, binding, handle_of, login,
    query, redemption, token_of, upstream_login,
};

const MANY: u8 = 64;

/// Runs 64 calls of one step at the same moment.
async fn race<F, T>(store: &TestStore, step: impl Fn(u8, SharedStore) -> F) -> Vec<T>
where
    F: Future<Output = T> + Send + 'static,
    T: Send + 'static,
{
    let stores = [store.inner.clone(), store.engine.open()];
    let start = Arc::new(Barrier::new(MANY.into()));
    let mut calls = tokio::task::JoinSet::new();
    for n in 0..MANY {
        let (start, step) = (start.clone(), step(n, stores[usize::from(n % 2)].clone()));
        calls.spawn(async move {
            start.wait().await;
            step.await
        });
    }
    calls.join_all().await
}

fn count<T>(results: &[T], is_winner: impl Fn(&T) -> bool) -> usize {
    results.iter().filter(|result| is_winner(result)).count()
}

fn numbered_handle(n: u8) -> Digest {
    handle_of(100 + n)
}

async fn check_one_opening_is_fresh(store: &TestStore) {
    let now = store.now();
    let results = race(store, |n, store| async move {
        let login = login(1, numbered_handle(n), "ada", now);
        store.open(login, now).await.unwrap()
    })
    .await;
    assert_eq!(count(&results, |opened| *opened == Opened::Fresh), 1);
    let mut known = 0;
    for n in 0..MANY {
        known += usize::from(store.find(100 + n).await.is_some());
    }
    assert_eq!(known, 1, "one handle leads to the login");
}

// Threats: A25, CVE-2020-15222.
pub(super) async fn of_64_openings_with_one_key_one_is_fresh(store: TestStore) {
    check_one_opening_is_fresh(&store).await;
}

pub(super) async fn of_64_openings_with_an_expired_key_one_is_fresh(store: TestStore) {
    store.open(1).await;
    store.at_ms(600_000);
    check_one_opening_is_fresh(&store).await;
}

pub(super) async fn of_64_browsers_one_gets_the_login(store: TestStore) {
    store.open(1).await;
    let now = store.now();
    let results = race(&store, |n, store| async move {
        let bound = store.bind_browser(handle_of(1), binding(n), now).await;
        (n, bound.unwrap())
    })
    .await;
    let granted = results
        .iter()
        .filter(|(_, it)| matches!(it, Bound::Granted));
    let granted: Vec<_> = granted.map(|(n, _)| *n).collect();
    let [winner] = granted[..] else {
        panic!("granted to {granted:?}");
    };
    let status = store.find(1).await.unwrap().status;
    assert_eq!(status, SessionStatus::Bound(binding(winner)));
}

pub(super) async fn of_64_outcomes_one_completes_the_login(store: TestStore) {
    store.open(1).await;
    let now = store.now();
    let results = race(&store, |n, store| async move {
        let error = LoginError::ALL[usize::from(n % 3)];
        let completed = store
            .complete(handle_of(1), LoginOutcome::Failed(error), now)
            .await
            .unwrap();
        (completed, error)
    })
    .await;
    let winners: Vec<_> = results
        .iter()
        .filter(|(completed, _)| *completed == Completed::Now)
        .collect();
    assert_eq!(winners.len(), 1);
    assert_eq!(
        store.consume_result(1).await,
        Read::Outcome(LoginOutcome::Failed(winners[0].1))
    );
}

// Threats: A26.
pub(super) async fn of_64_reads_one_consumes_the_outcome(store: TestStore) {
    store.open(1).await;
    store.succeed(1).await;
    let now = store.now();
    let results = race(&store, |_, store| async move {
        store.consume_result(query(1), now).await.unwrap()
    })
    .await;
    let results: Vec<_> = results.into_iter().map(Read::from).collect();
    let profile = adas_profile();
    assert_eq!(count(&results, |read| *read == profile), 1);
    assert_eq!(count(&results, |read| *read == CONSUMED), 63);
}

pub(super) async fn of_64_calls_one_consumes_the_upstream_login(store: TestStore) {
    let ends = store.now().plus_ms(600_000);
    let results = race(&store, |_, store| async move {
        store
            .consume_upstream_login(&upstream_login(1, ends))
            .await
            .unwrap()
    })
    .await;
    assert_eq!(count(&results, |consumed| *consumed == Consumed::Now), 1);
}

// Threats: A8, CVE-2020-5300.
pub(super) async fn of_64_redemptions_one_gets_a_token(store: TestStore) {
    store.issue(1).await;
    let now = store.now();
    let results = race(&store, |n, store| async move {
        store.redeem(redemption(1, n, now), now).await.unwrap()
    })
    .await;
    let tokens = count(&results, |redeemed| matches!(redeemed, Redeemed::Token(_)));
    assert_eq!(tokens, 1);
    // 63 replays end every token.
    for n in 0..MANY {
        assert!(store.profile(n).await.is_err());
    }
    assert_eq!(store.redeem(1).await, Exchange::Refused(Rule::CodeOnce));
}

pub(super) async fn of_64_revocations_all_succeed(store: TestStore) {
    store.issue(1).await;
    store.redeem(1).await;
    let now = store.now();
    let results = race(&store, |_, store| async move {
        store.revoke(token_of(1), now).await.unwrap()
    })
    .await;
    let revoked = count(&results, |it| matches!(it, Revoked::Now(_)));
    assert_eq!(revoked, 1);
    assert_eq!(store.profile(1).await, Err(Rule::BearerEnded));
}

pub(super) async fn reads_and_writes_of_64_callers_do_not_fail(store: TestStore) {
    let now = store.now();
    // A read that shares its transaction with a write must see the state that the
    // write sees, even if the other broker commits in between.
    let results = race(&store, |n, store| async move {
        let mut failures = 0;
        for round in 0..8 {
            let now = now.plus_ms(600_000 * round);
            let found = store.find(handle_of(n), now).await.is_err();
            let token = store.token(token_of(n), now).await.is_err();
            let opening = store.open(login(n, handle_of(n), "ada", now), now).await;
            let bound = store.bind_browser(handle_of(n), binding(n), now).await;
            failures += [found, token, opening.is_err(), bound.is_err()]
                .map(u8::from)
                .iter()
                .sum::<u8>();
        }
        failures
    })
    .await;
    assert_eq!(results, [0; 64]);
}
