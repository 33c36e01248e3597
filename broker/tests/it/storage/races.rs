//! Sixty-four at once, through two stores on one database: one winner each.

use std::future::Future;
use std::sync::Arc;

use broker::model::login_session::LoginOutcome;
use broker::store::{Bound, Completed, Consumed, Opened, Redeemed, ResultRead, Store};
use contract::{Digest, LoginError, Rule};
use tokio::sync::Barrier;

use super::bench::{
    Bench, Exchange, Read, ask, handle_of, login, mark, redemption, token_of, upstream_login,
};
use crate::users::ada;

const MANY: u8 = 64;

/// Runs one step for each of 64 contestants at the same moment.
async fn race<F, T>(bench: &Bench, step: impl Fn(u8, Arc<dyn Store>) -> F) -> Vec<T>
where
    F: Future<Output = T> + Send + 'static,
    T: Send + 'static,
{
    let stores = [bench.store.clone(), bench.engine.open().await];
    let start = Arc::new(Barrier::new(MANY.into()));
    let mut contestants = tokio::task::JoinSet::new();
    for n in 0..MANY {
        let (start, step) = (start.clone(), step(n, stores[usize::from(n % 2)].clone()));
        contestants.spawn(async move {
            start.wait().await;
            step.await
        });
    }
    contestants.join_all().await
}

fn count<T>(results: &[T], is_winner: impl Fn(&T) -> bool) -> usize {
    results.iter().filter(|result| is_winner(result)).count()
}

fn numbered_handle(n: u8) -> Digest {
    handle_of(100 + n)
}

async fn check_one_opening_is_fresh(bench: &Bench) {
    let now = bench.now();
    let results = race(bench, |n, store| async move {
        let login = login(1, numbered_handle(n), "ada", now);
        store.open(login, now).await.unwrap()
    })
    .await;
    assert_eq!(count(&results, |opened| *opened == Opened::Fresh), 1);
    let mut known = 0;
    for n in 0..MANY {
        known += usize::from(bench.find(100 + n).await.is_some());
    }
    assert_eq!(known, 1, "one handle leads to the login");
}

pub(super) async fn of_64_openings_with_one_key_one_is_fresh(bench: Bench) {
    check_one_opening_is_fresh(&bench).await;
}

pub(super) async fn of_64_openings_with_an_expired_key_one_is_fresh(bench: Bench) {
    bench.open(1).await;
    bench.at_ms(600_000);
    check_one_opening_is_fresh(&bench).await;
}

pub(super) async fn of_64_browsers_one_gets_the_login(bench: Bench) {
    bench.open(1).await;
    let now = bench.now();
    let results = race(&bench, |n, store| async move {
        store
            .bind_browser(handle_of(1), mark(n), now)
            .await
            .unwrap()
    })
    .await;
    let granted = |claim: &Bound| matches!(claim, Bound::Granted(_));
    assert_eq!(count(&results, granted), 1);
    let Some(Bound::Granted(login)) = results.iter().find(|claim| granted(claim)) else {
        unreachable!("one was counted");
    };
    assert_eq!(bench.find(1).await.unwrap().status, login.status);
}

pub(super) async fn of_64_outcomes_one_is_settled(bench: Bench) {
    bench.open(1).await;
    let now = bench.now();
    let results = race(&bench, |n, store| async move {
        let error = LoginError::ALL[usize::from(n % 3)];
        let settled = store
            .complete(handle_of(1), LoginOutcome::Failed(error), now)
            .await
            .unwrap();
        (settled, error)
    })
    .await;
    let winners: Vec<_> = results
        .iter()
        .filter(|(settled, _)| *settled == Completed::Now)
        .collect();
    assert_eq!(winners.len(), 1);
    assert_eq!(
        bench.consume_result(1).await,
        Read::Outcome(LoginOutcome::Failed(winners[0].1))
    );
}

pub(super) async fn of_64_reads_one_takes_the_outcome(bench: Bench) {
    bench.open(1).await;
    bench.finish(1).await;
    let now = bench.now();
    let results = race(&bench, |_, store| async move {
        store.consume_result(ask(1), now).await.unwrap()
    })
    .await;
    let profile = LoginOutcome::Succeeded(ada());
    assert_eq!(
        count(
            &results,
            |taken| matches!(taken, ResultRead::Outcome(outcome) if *outcome == profile)
        ),
        1
    );
    assert_eq!(
        count(&results, |taken| matches!(
            taken,
            ResultRead::Refused(Rule::ResultOnce)
        )),
        63
    );
}

pub(super) async fn of_64_spendings_of_a_upstream_login_one_counts(bench: Bench) {
    let ends = bench.now().plus_ms(600_000);
    let results = race(&bench, |_, store| async move {
        store
            .consume_upstream_login(&upstream_login(1, ends))
            .await
            .unwrap()
    })
    .await;
    assert_eq!(count(&results, |spent| *spent == Consumed::Now), 1);
}

pub(super) async fn of_64_redemptions_one_gets_a_token(bench: Bench) {
    bench.issue(1).await;
    let now = bench.now();
    let results = race(&bench, |n, store| async move {
        store.redeem(redemption(1, n, now), now).await.unwrap()
    })
    .await;
    assert_eq!(
        count(&results, |redeemed| matches!(redeemed, Redeemed::Token(_))),
        1
    );
    for n in 0..MANY {
        assert!(
            bench.profile(n).await.is_err(),
            "63 replays end every token"
        );
    }
    assert_eq!(bench.redeem(1).await, Exchange::Refused(Rule::CodeOnce));
}

pub(super) async fn of_64_revocations_all_succeed(bench: Bench) {
    bench.issue(1).await;
    bench.redeem(1).await;
    let results = race(&bench, |_, store| async move {
        store.revoke(token_of(1)).await.unwrap()
    })
    .await;
    assert_eq!(count(&results, Option::is_some), 64);
    assert_eq!(bench.profile(1).await, Err(Rule::BearerEnded));
}

pub(super) async fn of_64_rounds_of_reads_and_writes_none_fails(bench: Bench) {
    let now = bench.now();
    // A read that shares its transaction with a write must not see an older
    // state than the write does, whatever the other broker committed between.
    let results = race(&bench, |n, store| async move {
        let mut failures = 0;
        for round in 0..8 {
            let opening = login(n, handle_of(n), "ada", now.plus_ms(600_000 * round));
            failures += u8::from(store.find(handle_of(n), now).await.is_err());
            failures += u8::from(store.token(token_of(n), now).await.is_err());
            failures += u8::from(
                store
                    .open(opening, now.plus_ms(600_000 * round))
                    .await
                    .is_err(),
            );
            failures += u8::from(
                store
                    .bind_browser(handle_of(n), mark(n), now)
                    .await
                    .is_err(),
            );
        }
        failures
    })
    .await;
    assert_eq!(results, [0; 64]);
}
