//! Login sessions: opened, bound to a browser, completed.

use broker::model::login_session::{LoginOutcome, NotAdmitted, SessionStatus};
use broker::store::{Bound, Completed, Opened};
use contract::{LoginError, Provider};

use super::test_store::{
    CALLBACK, CONSUMED, EXPIRED, Read, TestStore, UNKNOWN, adas_profile, binding, callback, project,
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
