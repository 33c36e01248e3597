//! Rate limits and quotas, and the requests that they leave alone.

use std::num::NonZeroU32;

use broker::clock::Clock;
use broker::config::Config;
use broker::model::UnixMs;
use contract::Rule;
use reqwest::Method;
use serde_json::Value;
use testkit::http::Response;

use crate::test_broker::{
    BOB_CALLBACK, BOB_SECRET, Browser, TestBroker, all, authorize_path, parameter, result_body,
    session_body, token_body, with,
};

fn many(number: u32) -> NonZeroU32 {
    number.try_into().unwrap()
}

/// The header in which the proxies of these tests name the client's address.
const HEADER: &str = "X-Real-IP";

const HERE: &str = "203.0.113.7";
const THERE: &str = "203.0.113.8";

/// A broker behind a proxy, with a clock that moves only by hand.
async fn limited(change: impl FnOnce(&mut Config)) -> TestBroker {
    let clock = Clock::fixed_at(UnixMs(1_790_000_000_000));
    TestBroker::start_on(clock, |config| {
        config.ip_header = Some(HEADER.to_owned().try_into().unwrap());
        change(config);
    })
    .await
}

async fn post_from(broker: &TestBroker, source: &str, path: &str, body: &Value) -> Response {
    let request = broker.request(Method::POST, path).header(HEADER, source);
    request.json(body).send().await
}

fn wrong(body: Value) -> Value {
    with(body, "client_secret", "wrong")
}

/// Tries to start Ada's login with a wrong secret.
async fn guess(broker: &TestBroker, source: &str) -> Response {
    post_from(broker, source, "/v1/login/session", &wrong(session_body(1))).await
}

/// Guesses as often as the limit allows, and asserts that it allows no more.
async fn guess_up_to_the_limit(broker: &TestBroker) {
    for _ in 0..19 {
        guess(broker, HERE).await.is_refusal(401);
    }
    is_rate_limited(&guess(broker, HERE).await, "4");
}

#[track_caller]
fn is_rate_limited(response: &Response, seconds: &str) {
    response.is_refusal(429);
    assert_eq!(response.header("retry-after"), Some(seconds));
}

// Threats: A38.
#[tokio::test]
async fn wrong_secrets_are_counted_by_client_and_address_and_the_right_one_is_always_accepted() {
    let broker = limited(|_| ()).await;
    guess_up_to_the_limit(&broker).await;
    for (path, body) in [
        ("/v1/login/session", session_body(1)),
        ("/v1/login/result", result_body(1)),
        ("/v1/token", token_body("code")),
    ] {
        is_rate_limited(&post_from(&broker, HERE, path, &wrong(body)).await, "4");
        assert_eq!(broker.last_rule(), Some("client.rate_limit"));
    }
    let right = post_from(&broker, HERE, "/v1/login/session", &session_body(1)).await;
    assert_eq!(right.status, 200, "{right:?}");
    assert_eq!(right.header("retry-after"), None);
    guess(&broker, THERE).await.is_refusal(401);
    for client_id in ["prj_bob", "prj_nobody"] {
        let body = with(wrong(session_body(1)), "client_id", client_id);
        for status in [[401; 19].as_slice(), &[429]].concat() {
            let response = post_from(&broker, HERE, "/v1/login/session", &body).await;
            assert_eq!(response.status, status, "{client_id}");
        }
    }
}

// Threats: A38.
#[tokio::test]
async fn a_wrong_secret_gets_401_again_after_retry_after_seconds() {
    let broker = limited(|_| ()).await;
    guess_up_to_the_limit(&broker).await;
    broker.advance_ms(3_000);
    is_rate_limited(&guess(&broker, HERE).await, "1");
    broker.advance_ms(1_000);
    guess(&broker, HERE).await.is_refusal(401);
    guess(&broker, HERE).await.is_refusal(429);
    broker.advance_ms(60_000);
    guess_up_to_the_limit(&broker).await;
}

/// A browser at this address and the path by which it returns from the provider.
async fn browser_at_provider(broker: &TestBroker, source: &'static str) -> (Browser, String) {
    let browser = broker.browser().with_header(HEADER, source);
    let back = browser.to_provider(&authorize_path()).await;
    (browser, back)
}

// Threats: B30.
#[tokio::test]
async fn of_thirty_concurrent_callbacks_from_one_address_ten_are_accepted() {
    let broker = limited(|config| config.limits.callbacks_per_minute = many(10)).await;
    let responses = all(30, || async {
        let (browser, back) = browser_at_provider(&broker, HERE).await;
        browser.get(&back).await
    })
    .await;
    let accepted = responses.iter().filter(|response| response.status == 303);
    assert_eq!(accepted.count(), 10);
    for refused in responses.iter().filter(|response| response.status != 303) {
        refused.is_refusal_page(429, "upstream_login.rate_limit");
        assert_eq!(refused.header("retry-after"), Some("6"));
    }
    // Three calls for each accepted callback.
    assert_eq!(broker.calls_upstream(), 30);
    let (browser, back) = browser_at_provider(&broker, THERE).await;
    assert_eq!(browser.get(&back).await.status, 303);
}

#[tokio::test]
async fn a_callback_over_the_rate_limit_succeeds_after_a_reload() {
    let broker = limited(|config| config.limits.callbacks_per_minute = many(1)).await;
    let (first, back) = browser_at_provider(&broker, HERE).await;
    // A callback without an upstream login does not count.
    let other = broker.browser().with_header(HEADER, HERE);
    let page = other.get(&back).await;
    page.is_refusal_page(400, "upstream_login.own_browser");
    assert_eq!(first.get(&back).await.status, 303);
    let (second, back) = browser_at_provider(&broker, HERE).await;
    for (seconds, wait_ms) in [("60", 59_999), ("1", 1)] {
        let page = second.get(&back).await;
        page.is_refusal_page(429, "upstream_login.rate_limit");
        assert_eq!(page.header("retry-after"), Some(seconds));
        broker.advance_ms(wait_ms);
    }
    let returned = second.get(&back).await;
    let code = parameter(returned.location().unwrap(), "code").unwrap();
    assert_eq!(broker.token(&code).await.status, 200);
}

/// Loopback is a proxy that names no client, or a test suite.
// Threats: CVE-2026-40575.
#[tokio::test]
async fn without_a_proxy_the_ip_header_is_ignored_and_callbacks_from_loopback_are_not_counted() {
    let broker = limited(|config| {
        config.ip_header = None;
        config.limits.callbacks_per_minute = many(1);
        config.limits.wrong_secrets_per_minute = many(2);
    })
    .await;
    for source in [HERE, THERE] {
        let (browser, back) = browser_at_provider(&broker, source).await;
        assert_eq!(browser.get(&back).await.status, 303);
        guess(&broker, source).await.is_refusal(401);
    }
    guess(&broker, "203.0.113.9").await.is_refusal(429);
}

// Threats: A39.
#[tokio::test]
async fn of_thirty_concurrent_logins_as_many_start_as_the_quota_allows() {
    let broker = limited(|config| config.limits.live_sessions = many(10)).await;
    let mut keys = 0..30;
    let responses = all(30, || {
        let body = session_body(keys.next().unwrap());
        let broker = &broker;
        async move { broker.post("/v1/login/session", &body).await }
    })
    .await;
    let started = responses.iter().filter(|response| response.status == 200);
    assert_eq!(started.count(), 10);
    for refused in responses.iter().filter(|response| response.status != 200) {
        // The current second is not counted.
        is_rate_limited(refused, "601");
    }
    let refused = broker.events();
    let mut refused = refused.iter().filter(|event| event.status == Some(429));
    assert!(refused.all(|event| event.rule == Some(Rule::SessionQuota)));
}

// Threats: A39.
#[tokio::test]
async fn the_quota_is_freed_by_expiry_and_not_by_reading_the_result() {
    let broker = limited(|config| config.limits.live_sessions = many(2)).await;
    let start = async |key| broker.post("/v1/login/session", &session_body(key)).await;
    broker.sign_in(1).await;
    broker.has_status(1, "succeeded").await;
    // A refused login uses no quota.
    for _ in 0..5 {
        let again = start(1).await;
        broker.has_refused(&again, 400, "session_key.fresh");
    }
    broker.advance_ms(300_000);
    assert_eq!(start(2).await.status, 200);
    is_rate_limited(&start(3).await, "301");
    broker.advance_ms(300_999);
    is_rate_limited(&start(3).await, "1");
    broker.advance_ms(1);
    assert_eq!(start(3).await.status, 200);
    is_rate_limited(&start(4).await, "300");

    let bobs = with(session_body(5), "client_id", "prj_bob");
    let bobs = with(bobs, "client_secret", BOB_SECRET);
    let bobs = with(bobs, "redirect_uri", BOB_CALLBACK);
    // Each project has its own.
    broker.session_with(&bobs).await;
}
