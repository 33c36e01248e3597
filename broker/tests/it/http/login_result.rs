//! `POST /v1/login/result`: the bytes of each result, and the refusals that consume none.

use serde_json::json;

use crate::test_broker::{
    BOB_CALLBACK, BOB_SECRET, CALLBACK, LOCAL_CALLBACK, TestBroker, adas_profile, key, result_body,
    sign_in, with,
};

// Threats: A26.
#[tokio::test]
async fn a_login_is_pending_until_it_has_a_result_which_is_read_once() {
    let broker = TestBroker::start().await;
    for (n, end, expected) in [
        (
            1,
            "code=upstream-code",
            json!({ "status": "succeeded", "profile": adas_profile() }),
        ),
        (
            2,
            "error=access_denied",
            json!({ "status": "failed", "error": "access_denied" }),
        ),
    ] {
        let (browser, back) = broker.at_provider(n).await;
        for _ in 0..100 {
            let response = broker.result(n).await;
            response.is_json(200, &json!({ "status": "pending" }));
        }
        let back = back.replace("code=upstream-code", end);
        browser.get(&back).await.redirects_to(CALLBACK);
        broker.result(n).await.is_json(200, &expected);
        let again = broker.result(n).await;
        broker.has_refused(&again, 400, "result.once");
    }
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
    let elsewhere = "https://other.example/";
    for (body, rule) in [
        (with(good(), "client_secret", "wrong"), "client.recognised"),
        (by_bob, "result.known"),
        (with(good(), "session_key", key(2)), "result.known"),
        (
            with(good(), "redirect_uri", LOCAL_CALLBACK),
            "result.callback",
        ),
        (
            with(good(), "redirect_uri", elsewhere),
            "redirect_uri.registered",
        ),
        (with(good(), "session_key", "short"), "session_key.pattern"),
    ] {
        broker.refuses("/v1/login/result", &body, 400, rule).await;
    }
    broker.has_status(1, "succeeded").await;
}
