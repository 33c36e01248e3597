//! The results of logins: read once, by their own project, in time; the fail points that a
//! read passes; and upstream logins, which are consumed once.

use std::sync::{Arc, Mutex};

use broker::model::login_session::{ResultQuery, SessionStatus};
use broker::store::Consumed;
use broker::store::fail_points::{FailPoint, FailPoints};
use contract::{Digest, Rule};

use super::test_store::{
    CONSUMED, EXPIRED, Read, SharedStore, TestStore, UNKNOWN, adas_profile, callback, project,
    query, upstream_login,
};

pub(super) async fn a_pending_read_does_not_consume_the_login(store: TestStore) {
    store.open(1).await;
    for _ in 0..3 {
        assert_eq!(store.consume_result(1).await, Read::Pending);
    }
    store.succeed(1).await;
    assert_eq!(store.consume_result(1).await, adas_profile());
}

pub(super) async fn a_pending_login_expires(store: TestStore) {
    store.open(1).await;
    store.at_ms(599_999);
    assert_eq!(store.consume_result(1).await, Read::Pending);
    store.at_ms(600_000);
    assert_eq!(store.consume_result(1).await, EXPIRED);
}

pub(super) async fn a_profile_is_read_once_and_leaves_its_row(store: TestStore) {
    store.open(1).await;
    store.succeed(1).await;
    assert_eq!(store.profiles("logins").await, 1);
    assert_eq!(store.consume_result(1).await, adas_profile());
    assert_eq!(store.profiles("logins").await, 0);
    assert_eq!(store.rows("logins").await, 1);
    assert_eq!(store.find(1).await.unwrap().status, SessionStatus::Consumed);
    for ms in [0, 1, 600_000] {
        store.at_ms(ms);
        assert_eq!(store.consume_result(1).await, CONSUMED, "at {ms}");
    }
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

pub(super) async fn an_unknown_key_reads_nothing(store: TestStore) {
    store.open(1).await;
    store.succeed(1).await;
    assert_eq!(store.consume_result(2).await, UNKNOWN);
}

pub(super) async fn another_project_consumes_nothing_and_learns_nothing(store: TestStore) {
    let read_by_bob = || {
        store.consume_result_with(ResultQuery {
            project: project("bob"),
            ..query(1)
        })
    };
    store.open(1).await;
    assert_eq!(read_by_bob().await, UNKNOWN, "while it is pending");
    store.succeed(1).await;
    assert_eq!(read_by_bob().await, UNKNOWN, "once it is completed");
    assert_eq!(store.consume_result(1).await, adas_profile());
    assert_eq!(read_by_bob().await, UNKNOWN, "once it is consumed");
    store.at_ms(600_000);
    assert_eq!(read_by_bob().await, UNKNOWN, "once it has expired");
}

pub(super) async fn another_callback_consumes_nothing(store: TestStore) {
    let others = [
        "https://app.example/other",
        "https://app.example/cb/",
        "https://app.example/CB",
    ];
    let check_refused = async || {
        for other in others {
            let query = ResultQuery {
                redirect_uri: callback(other),
                ..query(1)
            };
            let read = store.consume_result_with(query).await;
            assert_eq!(read, Read::Refused(Rule::ResultCallback), "{other}");
        }
        let query = ResultQuery {
            project: project("bob"),
            redirect_uri: callback(others[0]),
            ..query(1)
        };
        assert_eq!(store.consume_result_with(query).await, UNKNOWN);
    };
    store.open(1).await;
    check_refused().await;
    store.succeed(1).await;
    check_refused().await;
    assert_eq!(store.consume_result(1).await, adas_profile());
    check_refused().await;
}

pub(super) async fn each_upstream_login_is_consumed_once(store: TestStore) {
    let ends = store.now().plus_ms(600_000);
    for (seed, consumed) in [
        (1, Consumed::Now),
        (1, Consumed::Before),
        (2, Consumed::Now),
        (1, Consumed::Before),
    ] {
        let upstream_login = upstream_login(seed, ends);
        assert_eq!(
            store.consume_upstream_login(&upstream_login).await,
            consumed
        );
    }
}

/// A second way to the database of `store`, and the fail points that it passes.
async fn observe(store: &TestStore) -> (SharedStore, Arc<Mutex<Vec<FailPoint>>>) {
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
