//! `POST /v1/login/result`: every refusal is the same 400, and a result is read once.

use reqwest::Method;
use serde_json::json;

use crate::test_broker::{
    BOB_CALLBACK, BOB_SECRET, CALLBACK, LOCAL_CALLBACK, TestBroker, adas_profile, key, result_body,
    session_body, sign_in, with,
};

// Threats: A26.
#[tokio::test]
async fn a_pending_read_does_not_consume_the_session() {
    let broker = TestBroker::start().await;
    let path = broker.session(1).await;
    for _ in 0..300 {
        let response = broker.result(1).await;
        assert_eq!(response.text(), r#"{"status":"pending"}"#);
        response.is_json(200, &json!({ "status": "pending" }));
        response.has_security_headers();
    }
    let browser = broker.browser();
    let redirect = browser.get(&path).await;
    browser.come_back(&redirect, "code=upstream-code").await;
    assert_eq!(broker.result(1).await.json()["status"], "succeeded");
}

#[tokio::test]
async fn a_profile_is_read_once() {
    let broker = TestBroker::start().await;
    sign_in(&broker, 1).await.redirects_to(CALLBACK);
    let expected = json!({ "status": "succeeded", "profile": adas_profile() });
    broker.result(1).await.is_json(200, &expected);
    broker.result(1).await.is_refusal(400);
    assert_eq!(broker.last_rule(), Some("result.once"));
}

#[tokio::test]
async fn a_failure_is_read_once() {
    let broker = TestBroker::start().await;
    let path = broker.session(1).await;
    let browser = broker.browser();
    let redirect = browser.get(&path).await;
    let returned = browser.come_back(&redirect, "error=access_denied").await;
    returned.redirects_to(CALLBACK);
    let response = broker.result(1).await;
    assert_eq!(
        response.text(),
        r#"{"status":"failed","error":"access_denied"}"#
    );
    assert_eq!(response.status, 200);
    broker.result(1).await.is_refusal(400);
}

// Threats: A27, CVE-2022-39263.
#[tokio::test]
async fn every_refused_read_is_the_same_400_and_consumes_nothing() {
    let broker = TestBroker::start().await;
    sign_in(&broker, 1).await;
    let good = || result_body(1);
    let by_bob = json!({
        "client_id": "prj_bob", "client_secret": BOB_SECRET,
        "session_key": key(1), "redirect_uri": BOB_CALLBACK,
    });
    for (body, rule) in [
        (with(good(), "client_secret", "wrong"), "client.recognised"),
        (with(good(), "client_id", "prj_nobody"), "client.recognised"),
        (by_bob, "result.known"),
        (with(good(), "session_key", key(2)), "result.known"),
        (
            with(good(), "redirect_uri", LOCAL_CALLBACK),
            "result.callback",
        ),
        (
            with(good(), "redirect_uri", "https://other.example/"),
            "redirect_uri.registered",
        ),
        (with(good(), "session_key", "short"), "session_key.pattern"),
    ] {
        broker.post("/v1/login/result", &body).await.is_refusal(400);
        assert_eq!(broker.last_rule(), Some(rule));
    }
    assert_eq!(broker.result(1).await.json()["status"], "succeeded");
}

#[tokio::test]
async fn a_login_session_lives_600_seconds() {
    let broker = TestBroker::start().await;
    sign_in(&broker, 1).await;
    sign_in(&broker, 2).await;
    broker.session(3).await;
    broker.advance_ms(590_000);
    assert_eq!(broker.result(1).await.json()["status"], "succeeded");
    assert_eq!(broker.result(3).await.json()["status"], "pending");
    broker.advance_ms(10_000);
    for key in [2, 3] {
        broker.result(key).await.is_refusal(400);
        assert_eq!(broker.last_rule(), Some("result.expiry"));
    }
}

#[tokio::test]
async fn a_key_is_fresh_again_after_600_seconds() {
    let broker = TestBroker::start().await;
    broker.session(1).await;
    let again = || {
        broker
            .request(Method::POST, "/v1/login/session")
            .json(&session_body(1))
    };
    again().send().await.is_refusal(400);
    assert_eq!(broker.last_rule(), Some("session_key.fresh"));
    broker.advance_ms(600_000);
    assert_eq!(again().send().await.status, 200);
}
