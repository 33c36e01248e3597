//! Rotation of the cookie key during logins, at brokers that are restarted one after
//! the other.

use broker::cookie_cipher::CookieKey;
use testkit::http::Response;

use crate::test_broker::{CALLBACK, TestBroker, authorize_path, back_path};

/// A broker with these cookie keys.
async fn broker(keys: &[u8]) -> TestBroker {
    let keys = keys.iter().map(|key| CookieKey::from_random(&[*key; 32]));
    let keys = keys.collect();
    TestBroker::start_with(|config| config.cookie_keys = keys).await
}

/// Starts a login at a broker with the keys `from`, and completes it at one with `to`.
async fn log_in_across(from: &[u8], to: &[u8]) -> Response {
    let (from, to) = (broker(from).await, broker(to).await);
    let before = from.browser();
    let redirect = before.get(&authorize_path()).await;
    let after = before.moved_to(to.http());
    after.get(&back_path(&redirect, "code=upstream-code")).await
}

#[tokio::test]
async fn a_login_completes_across_every_step_of_a_key_rotation() {
    let steps: [&[u8]; 4] = [&[1], &[1, 2], &[2, 1], &[2]];
    for pair in steps.windows(2) {
        for (from, to) in [(pair[0], pair[1]), (pair[1], pair[0])] {
            let returned = log_in_across(from, to).await;
            assert_eq!(returned.status, 303, "{from:?} to {to:?}: {returned:?}");
            assert!(returned.location().unwrap().starts_with(CALLBACK));
        }
    }
}

#[tokio::test]
async fn a_removed_key_decrypts_nothing() {
    for (from, to) in [(&[1][..], &[2][..]), (&[2, 1], &[1])] {
        let lost = log_in_across(from, to).await;
        lost.is_refusal_page(400, "upstream_login.own_browser");
    }
}
