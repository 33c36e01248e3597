//! `GET /login/{handle}`: the browser that the login is bound to, and the refusals of
//! all others.

use serde_json::json;

use crate::test_broker::{CALLBACK, LOCAL_CALLBACK, TestBroker, session_body, with};

/// The path of a login whose callback is local, as a plain client needs.
async fn local_session(broker: &TestBroker) -> String {
    let body = with(session_body(1), "redirect_uri", LOCAL_CALLBACK);
    broker.session_with(&body).await
}

#[tokio::test]
async fn an_unknown_handle_is_a_page_with_advice() {
    let broker = TestBroker::start().await;
    for handle in ["x", "unknown", &"a".repeat(43)] {
        let response = broker.browser().get(&format!("/login/{handle}")).await;
        response.is_refusal_page(404, "handle.known");
        assert!(response.text().contains("Start again"), "{response:?}");
    }
}

#[tokio::test]
async fn the_bound_browser_may_start_another_upstream_login() {
    let broker = TestBroker::start().await;
    let (browser, path) = (broker.browser(), broker.session(1).await);
    let first = browser.to_provider(&path).await;
    let second = browser.to_provider(&path).await;
    assert_ne!(first, second);
    // The first of the two that completes decides.
    let denied = second.replace("code=upstream-code", "error=access_denied");
    browser.get(&denied).await.redirects_to(CALLBACK);
    browser.get(&first).await.redirects_to(CALLBACK);
    let failed = json!({ "status": "failed", "error": "access_denied" });
    broker.result(1).await.is_json(200, &failed);
}

// Threats: V6.
#[tokio::test]
async fn a_late_browser_is_redirected_to_the_callback() {
    let broker = TestBroker::start().await;
    let (browser, path) = (broker.browser(), broker.session(1).await);
    for wait_ms in [600_000, 590_000] {
        broker.advance_ms(wait_ms);
        browser.get(&path).await.redirects_to(CALLBACK);
    }
    broker.advance_ms(10_000);
    let page = browser.get(&path).await;
    page.is_refusal_page(404, "handle.known");
}

// Threats: V6.
#[tokio::test]
async fn a_completed_login_redirects_every_browser_to_the_callback() {
    let broker = TestBroker::start().await;
    let (browser, path) = (broker.browser(), broker.session(1).await);
    let back = browser.to_provider(&path).await;
    browser.get(&back).await;
    browser.get(&path).await.redirects_to(CALLBACK);
    broker.browser().get(&path).await.redirects_to(CALLBACK);
    broker.result(1).await;
    browser.get(&path).await.redirects_to(CALLBACK);
}

#[tokio::test]
async fn a_local_plain_client_can_complete_a_login_and_does_not_bind_it() {
    let broker = TestBroker::start().await;
    let path = local_session(&broker).await;
    let curl = broker.plain_client();
    let curls_back = curl.to_provider(&path).await;
    let browser = broker.local_browser();
    let back = browser.to_provider(&path).await;
    let refused = broker.plain_client().get(&path).await;
    refused.is_refusal(410);
    browser.get(&back).await.redirects_to(LOCAL_CALLBACK);
    assert_eq!(broker.calls_upstream(), 3, "the user signed in");
    curl.get(&curls_back).await.redirects_to(LOCAL_CALLBACK);
    let again = broker.plain_client().get(&path).await;
    again.redirects_to(LOCAL_CALLBACK);

    let broker = TestBroker::start().await;
    let curl = broker.plain_client();
    let back = curl.to_provider(&local_session(&broker).await).await;
    curl.get(&back).await.redirects_to(LOCAL_CALLBACK);
    assert_eq!(broker.calls_upstream(), 3, "it signed in");
}

#[tokio::test]
async fn a_local_client_with_fetch_metadata_or_a_foreign_referrer_must_confirm() {
    let broker = TestBroker::start().await;
    let path = local_session(&broker).await;
    let check = async |name: &'static str, value: &'static str, expected: u16| {
        let client = broker.plain_client().with_header(name, value);
        assert_eq!(client.get(&path).await.status, expected, "{name}: {value}");
    };
    check("User-Agent", "Mozilla/5.0", 303).await;
    check("Referer", "http://localhost:3000/start", 303).await;
    check("Referer", "http://127.0.0.1:8000/", 303).await;
    check("Referer", "http://localhost:3001/", 200).await;
    check("Referer", "https://evil.test/", 200).await;
    check("Referer", "not a url", 200).await;
    check("Sec-Fetch-Site", "none", 200).await;
    check("sec-fetch-user", "?1", 200).await;
    check("Sec-Fetch-Dest", "document", 200).await;
    // Node's fetch sends this header, and no browser sends it alone.
    check("sec-fetch-mode", "cors", 303).await;
    // None of them is bound.
    assert_eq!(broker.local_browser().get(&path).await.status, 303);
}

#[tokio::test]
async fn a_plain_client_must_confirm_unless_everything_is_local() {
    // The callback is not local.
    let broker = TestBroker::start().await;
    let path = broker.session(1).await;
    assert_eq!(broker.plain_client().get(&path).await.status, 200);
    // The provider is not local.
    let remote = TestBroker::start_with(|config| {
        let github = config.upstream.github.as_mut().unwrap();
        github.web_url = "https://github.com".parse().unwrap();
    });
    // The broker is not local.
    for broker in [remote.await, TestBroker::start_https().await] {
        let path = local_session(&broker).await;
        assert_eq!(broker.plain_client().get(&path).await.status, 200);
    }
}
