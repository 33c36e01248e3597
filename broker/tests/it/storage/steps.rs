//! Steps of a store that no request takes at such a time, or that no answer tells apart. The
//! exploration of `consistency` takes all others, on both engines.

use std::sync::{Arc, Mutex};

use broker::model::login_session::LoginOutcome;
use broker::store::fail_points::{FailPoint, FailPoints};
use broker::store::{Completed, Revoked};
use contract::{Digest, LoginError, Rule};

use super::sqlite::{assert_every_step_is_stored, take_every_step};
use super::test_store::{
    EXPIRED, Exchange, Read, SharedStore, TestStore, adas_profile, grant, query,
};
use crate::test_broker::ada;

pub(super) async fn every_step_of_one_broker_counts_at_another(store: TestStore) {
    take_every_step(&store).await;
    assert_every_step_is_stored(&store.ahead_by_ms(0)).await;
}

pub(super) async fn a_login_can_be_completed_until_its_600_seconds_are_over(store: TestStore) {
    store.open(1).await;
    store.open(2).await;
    store.at_ms(599_999);
    assert_eq!(store.succeed(1).await, Completed::Now);
    assert_eq!(store.consume_result(1).await, adas_profile());
    store.at_ms(600_000);
    assert_eq!(store.succeed(2).await, Completed::TooLate);
    assert_eq!(store.profiles("logins").await, 0);
    assert_eq!(store.consume_result(2).await, EXPIRED);
}

// Threats: A28.
pub(super) async fn an_outcome_expires_after_600_seconds_for_good(store: TestStore) {
    for key in [1, 2] {
        store.open(key).await;
        store.succeed(key).await;
    }
    store.at_ms(599_999);
    assert_eq!(store.consume_result(1).await, adas_profile());
    for ms in [600_000, 600_001, 1_199_999] {
        store.at_ms(ms);
        assert_eq!(store.consume_result(2).await, EXPIRED, "at {ms}");
    }
}

pub(super) async fn two_logins_do_not_affect_each_other(store: TestStore) {
    store.open(1).await;
    store.open(2).await;
    store.bind_browser(1, 1).await;
    assert!(store.is_granted(2, 2).await);
    store.succeed(1).await;
    assert_eq!(store.consume_result(2).await, Read::Pending);
    let unavailable = LoginOutcome::Failed(LoginError::ProviderUnavailable);
    store.complete(2, unavailable.clone()).await;
    assert_eq!(store.consume_result(1).await, adas_profile());
    assert_eq!(store.consume_result(2).await, Read::Outcome(unavailable));
}

/// A second way to the database of `store`, and the fail points that it passes.
fn observe(store: &TestStore) -> (SharedStore, Arc<Mutex<Vec<FailPoint>>>) {
    let passed = Arc::new(Mutex::new(Vec::new()));
    let observer = passed.clone();
    let fail_points = FailPoints::new(move |point| observer.lock().unwrap().push(point));
    (store.engine.open_with(fail_points), passed)
}

pub(super) async fn a_read_passes_its_fail_points_in_order(store: TestStore) {
    store.open(1).await;
    store.succeed(1).await;
    let (observed, passed) = observe(&store);
    let read = observed.consume_result(query(1), store.now()).await;
    assert_eq!(Read::from(read.unwrap()), adas_profile());
    assert_eq!(
        *passed.lock().unwrap(),
        [
            FailPoint::AfterRead,
            FailPoint::BeforeCommit,
            FailPoint::AfterCommit
        ]
    );
    // So does a step that changes nothing.
    let unknown = Digest::of(b"unknown");
    observed.revoke(unknown, store.now()).await.unwrap();
    assert_eq!(passed.lock().unwrap().last(), Some(&FailPoint::AfterCommit));
    assert!(passed.lock().unwrap().len() > 3);
}

pub(super) async fn a_code_that_expired_stays_expired(store: TestStore) {
    store.issue(1).await;
    for ms in [60_000, 60_001, 959_999] {
        store.at_ms(ms);
        assert_eq!(store.redeem(1).await, Exchange::Refused(Rule::CodeExpiry));
    }
    store.at_ms(960_000);
    assert_eq!(store.redeem(1).await, Exchange::Refused(Rule::CodeKnown));
}

pub(super) async fn an_expired_token_is_erased_not_revoked_and_then_forgotten(store: TestStore) {
    store.issue(1).await;
    store.redeem(1).await;
    let login = grant(1, store.now()).login;
    for (ms, known) in [(900_000, Some(&login)), (1_500_000, None)] {
        store.at_ms(ms);
        assert_eq!(store.revoke(1).await, Revoked::Before(known.cloned()));
        assert_eq!(store.profiles("grants").await, 0);
    }
}

pub(super) async fn two_grants_do_not_affect_each_other(store: TestStore) {
    store.issue(1).await;
    store.issue(2).await;
    store.redeem(1).await;
    store.redeem(2).await;
    store.revoke(1).await;
    assert_eq!(store.profile(1).await, Err(Rule::BearerEnded));
    assert_eq!(store.profile(2).await, Ok(ada()));
}

pub(super) async fn the_same_code_cannot_be_issued_twice(store: TestStore) {
    store.issue(1).await;
    let again = grant(1, store.now());
    assert!(store.inner.issue(again).await.is_err());
    assert_eq!(store.redeem(1).await, Exchange::Token);
}
