//! Login sessions: opened, bound to a browser, completed; their results, read once, by their
//! own project, in time; the fail points that a read passes; and upstream logins, which are
//! consumed once.

use std::sync::{Arc, Mutex};

use broker::model::login_session::{LoginOutcome, NotAdmitted, ResultQuery, SessionStatus};
use broker::store::fail_points::{FailPoint, FailPoints};
use broker::store::{Bound, Completed, Consumed, Opened};
use contract::{Digest, LoginError, Provider, Rule};

use super::test_store::{
    CALLBACK, CONSUMED, EXPIRED, Read, SharedStore, TestStore, UNKNOWN, adas_profile, binding,
    callback, project, query, upstream_login,
};
use crate::test_broker::ada;

/// The rejection of a browser whose login is over.
fn over() -> NotAdmitted {
    NotAdmitted::Over {
        project: project("ada"),
        redirect_uri: callback(CALLBACK),
    }
}

pub(super) async fn a_login_is_found_as_it_was_opened(store: TestStore) {
    assert_eq!(store.open(1).await, Opened::Fresh);
    assert_eq!(store.succeed(2).await, Completed::TooLate, "it is unknown");
    assert!(store.find(2).await.is_none());
    let login = store.find(1).await.unwrap();
    assert_eq!(login.project, project("ada"));
    assert_eq!(login.redirect_uri, callback(CALLBACK));
    assert_eq!(login.provider, Provider::GitHub);
    assert_eq!(login.ends, store.now().plus_ms(600_000));
    assert_eq!(login.known_until, store.now().plus_ms(1_200_000));
    assert_eq!(login.status, SessionStatus::Unbound);
    assert_eq!(login.login.as_str().len(), 12);
}

// Threats: A25.
pub(super) async fn a_key_belongs_to_its_login_for_600_seconds_in_any_state(store: TestStore) {
    let [pending, completed, consumed, other_project] = [1, 2, 3, 4];
    let keys = [pending, completed, consumed, other_project];
    for key in keys {
        store.open(key).await;
    }
    store.succeed(completed).await;
    store.succeed(consumed).await;
    store.consume_result(consumed).await;

    for ms in [0, 599_999] {
        store.at_ms(ms);
        for key in keys {
            for project in ["ada", "bob"] {
                let opened = store.open_with(key, 9, project).await;
                assert_eq!(opened, Opened::KeyTaken, "{key} by {project} at {ms}");
            }
        }
    }
    store.at_ms(600_000);
    for key in keys {
        let name = if key == other_project { "bob" } else { "ada" };
        let handle = 10 + key;
        assert_eq!(store.open_with(key, handle, name).await, Opened::Fresh);
        assert_eq!(store.find(handle).await.unwrap().project, project(name));
        let again = store.open_with(key, 20 + key, name).await;
        assert_eq!(again, Opened::KeyTaken);
    }
}

// Threats: A25.
pub(super) async fn a_refused_opening_leaves_the_first_login_as_it_was(store: TestStore) {
    store.open(1).await;
    store.bind_browser(1, 1).await;
    store.open_with(1, 2, "bob").await;
    assert!(store.find(2).await.is_none());
    let first = store.find(1).await.unwrap();
    assert_eq!(first.project, project("ada"));
    assert_eq!(first.status, SessionStatus::Bound(binding(1)));
    store.succeed(1).await;
    assert_eq!(store.consume_result(1).await, adas_profile());
}

pub(super) async fn a_reused_key_forgets_everything_of_its_first_login(store: TestStore) {
    store.open(1).await;
    store.bind_browser(1, 1).await;
    store.succeed(1).await;
    store.at_ms(600_000);
    store.open_with(1, 2, "ada").await;
    store.assert_unknown(1).await;
    let second = store.find(2).await.unwrap();
    assert_eq!(second.status, SessionStatus::Unbound);
    assert_eq!(second.ends, store.now().plus_ms(600_000));
    assert_eq!(second.known_until, store.now().plus_ms(1_200_000));
    assert_eq!(store.profiles("logins").await, 0);
    assert_eq!(store.consume_result(1).await, Read::Pending);
    assert_eq!(store.rows("logins").await, 1);
}

pub(super) async fn a_login_is_known_for_1200_seconds(store: TestStore) {
    store.assert_unknown(1).await;
    store.open(1).await;
    store.at_ms(1_199_999);
    assert!(store.find(1).await.is_some());
    let bound = store.bind_browser(1, 1).await;
    assert!(matches!(bound, Bound::Refused(Some(_))));
    store.at_ms(1_200_000);
    store.assert_unknown(1).await;
    assert_eq!(store.consume_result(1).await, UNKNOWN);
}

pub(super) async fn the_first_browser_is_bound_and_may_come_again(store: TestStore) {
    store.open(1).await;
    for _ in 0..2 {
        assert!(store.is_granted(1, 1).await);
        let found = store.find(1).await.unwrap();
        assert_eq!(found.status, SessionStatus::Bound(binding(1)));
        assert_eq!(found.redirect_uri, callback(CALLBACK));
    }
}

pub(super) async fn another_browser_is_refused_and_the_first_keeps_the_login(store: TestStore) {
    store.open(1).await;
    store.bind_browser(1, 1).await;
    let Bound::Refused(Some(login)) = store.bind_browser(1, 2).await else {
        panic!("the second browser was granted the login, or found none");
    };
    assert_eq!(login.status, SessionStatus::Bound(binding(1)));
    assert_eq!(login.reject(store.now()), NotAdmitted::OtherBrowser);
    assert!(store.is_granted(1, 1).await);
}

pub(super) async fn a_login_with_an_outcome_is_bound_to_no_browser(store: TestStore) {
    let [bound_and_completed, consumed] = [1, 2];
    for key in [bound_and_completed, consumed] {
        store.open(key).await;
    }
    store.bind_browser(bound_and_completed, 1).await;
    store.succeed(bound_and_completed).await;
    store.succeed(consumed).await;
    store.consume_result(consumed).await;
    for (handle, browser, status) in [
        (bound_and_completed, 1, SessionStatus::Completed),
        (bound_and_completed, 2, SessionStatus::Completed),
        (consumed, 1, SessionStatus::Consumed),
    ] {
        let Bound::Refused(Some(login)) = store.bind_browser(handle, browser).await else {
            panic!("browser {browser} was granted login {handle}, or found none");
        };
        assert_eq!(login.status, status);
        assert_eq!(login.reject(store.now()), over());
    }
}

pub(super) async fn a_login_can_be_bound_until_its_600_seconds_are_over(store: TestStore) {
    store.open(1).await;
    store.at_ms(599_999);
    assert!(store.is_granted(1, 1).await);
    store.at_ms(600_000);
    assert!(!store.is_granted(1, 1).await);
}

pub(super) async fn a_login_is_completed_once_by_its_first_outcome(store: TestStore) {
    let errors = LoginError::ALL.map(LoginOutcome::Failed);
    let outcomes = errors.into_iter().chain([LoginOutcome::Succeeded(ada())]);
    for (key, outcome) in (1..).zip(outcomes) {
        store.open(key).await;
        assert_eq!(store.complete(key, outcome.clone()).await, Completed::Now);
        let status = store.find(key).await.unwrap().status;
        assert_eq!(status, SessionStatus::Completed);
        assert_eq!(store.succeed(key).await, Completed::TooLate);
        assert_eq!(store.consume_result(key).await, Read::Outcome(outcome));
        assert_eq!(store.succeed(key).await, Completed::TooLate);
        assert_eq!(store.consume_result(key).await, CONSUMED);
    }
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

// Threats: A27, CVE-2022-39263.
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
