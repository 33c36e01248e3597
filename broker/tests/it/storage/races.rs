//! 64 calls of one step at once, through two stores on one database. The exploration and the
//! races of `consistency` have every step, with fewer callers.

use std::future::Future;
use std::sync::Arc;

use broker::store::Redeemed;
use contract::Rule;
use tokio::sync::Barrier;

use super::test_store::{
    Exchange, SharedStore, TestStore, binding, handle_of, login, redemption, token_of,
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

// Threats: A8, CVE-2020-5300.
pub(super) async fn of_64_redemptions_one_gets_a_token(store: TestStore) {
    store.issue(1).await;
    let now = store.now();
    let results = race(&store, |n, store| async move {
        store.redeem(redemption(1, n, now), now).await.unwrap()
    })
    .await;
    let is_token = |it: &&Redeemed| matches!(it, Redeemed::Token(_));
    assert_eq!(results.iter().filter(is_token).count(), 1);
    // 63 replays end every token.
    for n in 0..MANY {
        assert!(store.profile(n).await.is_err());
    }
    assert_eq!(store.redeem(1).await, Exchange::Refused(Rule::CodeOnce));
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
            let opening = store.open(login(n, handle_of(n), now), now).await;
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
