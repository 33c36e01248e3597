//! The fail points that a step passes, as a callback sees them.

use std::sync::{Arc, Mutex};

use broker::store::Store;
use broker::store::fail_points::{FailPoint, FailPoints};
use contract::Digest;

use super::test_store::{Read, TestStore, adas_profile, query};

/// A second way to the database of `store`, and the fail points that it passes.
async fn observe(store: &TestStore) -> (Arc<dyn Store>, Arc<Mutex<Vec<FailPoint>>>) {
    let passed = Arc::new(Mutex::new(Vec::new()));
    let observer = passed.clone();
    let fail_points = FailPoints::new(move |point| observer.lock().unwrap().push(point));
    (store.engine.open_with(fail_points).await, passed)
}

pub(super) async fn a_read_passes_its_fail_points_in_order(store: TestStore) {
    store.open(1).await;
    store.succeed(1).await;
    let (observed, passed) = observe(&store).await;
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
    observed.revoke(Digest::of(b"unknown")).await.unwrap();
    assert_eq!(passed.lock().unwrap().last(), Some(&FailPoint::AfterCommit));
    assert!(passed.lock().unwrap().len() > 3);
}
