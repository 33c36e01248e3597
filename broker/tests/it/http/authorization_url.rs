//! `GET /login/{handle}`: the browser that the login is bound to, and the refusals of
//! all others.

use crate::test_broker::{
    CALLBACK, LOCAL_CALLBACK, TestBroker, authorize_path, session_body, sign_in, with,
};

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
    broker.get("/login/unknown").await.is_refusal(404);
}

// Threats: X4, M5, CVE-2026-7507.
#[tokio::test]
async fn the_first_browser_is_bound_and_any_other_is_refused() {
    let broker = TestBroker::start().await;
    let path = broker.session(1).await;
    let (first, second) = (broker.browser(), broker.browser());
    let redirect = first.get(&path).await;
    assert_eq!(redirect.status, 303);
    second
        .get(&path)
        .await
        .is_refusal_page(410, "handle.one_browser");
    first
        .come_back(&redirect, "code=upstream-code")
        .await
        .redirects_to(CALLBACK);
    assert_eq!(broker.result(1).await.json()["status"], "succeeded");
}

#[tokio::test]
async fn the_bound_browser_may_start_another_upstream_login() {
    let broker = TestBroker::start().await;
    let path = broker.session(1).await;
    let browser = broker.browser();
    let (first, second) = (browser.get(&path).await, browser.get(&path).await);
    assert_eq!((first.status, second.status), (303, 303));
    assert_ne!(first.location(), second.location());
    // The first of the two that completes decides.
    browser
        .come_back(&second, "error=access_denied")
        .await
        .redirects_to(CALLBACK);
    browser
        .come_back(&first, "code=upstream-code")
        .await
        .redirects_to(CALLBACK);
    assert_eq!(broker.result(1).await.json()["error"], "access_denied");
}

#[tokio::test]
async fn a_browser_without_its_cookies_is_refused() {
    let broker = TestBroker::start().await;
    let path = broker.session(1).await;
    let browser = broker.browser();
    browser.get(&path).await;
    browser.clear_cookies();
    browser
        .get(&path)
        .await
        .is_refusal_page(410, "handle.one_browser");
}

// Threats: V6.
#[tokio::test]
async fn a_late_browser_is_redirected_to_the_callback() {
    let broker = TestBroker::start().await;
    let path = broker.session(1).await;
    let browser = broker.browser();
    broker.advance_ms(600_000);
    browser.get(&path).await.redirects_to(CALLBACK);
    broker.advance_ms(590_000);
    browser.get(&path).await.redirects_to(CALLBACK);
    broker.advance_ms(10_000);
    browser
        .get(&path)
        .await
        .is_refusal_page(404, "handle.known");
}

// Threats: V6.
#[tokio::test]
async fn a_completed_login_redirects_every_browser_to_the_callback() {
    let broker = TestBroker::start().await;
    let path = broker.session(1).await;
    let browser = broker.browser();
    let redirect = browser.get(&path).await;
    browser.come_back(&redirect, "code=upstream-code").await;
    browser.get(&path).await.redirects_to(CALLBACK);
    broker.browser().get(&path).await.redirects_to(CALLBACK);
    broker.result(1).await;
    browser.get(&path).await.redirects_to(CALLBACK);
}

#[tokio::test]
async fn a_local_plain_client_does_not_bind_the_login() {
    let broker = TestBroker::start().await;
    let path = local_session(&broker).await;
    let curl = broker.plain_client();
    assert_eq!(curl.get(&path).await.status, 303);
    let browser = broker.local_browser();
    let redirect = browser.get(&path).await;
    assert_eq!(redirect.status, 303, "curl is not bound");
    browser
        .come_back(&redirect, "code=upstream-code")
        .await
        .redirects_to(LOCAL_CALLBACK);
    assert_eq!(broker.calls_upstream().await, 3, "the user signed in");
    let again = broker.plain_client().get(&path).await;
    again.redirects_to(LOCAL_CALLBACK);
}

#[tokio::test]
async fn a_local_plain_client_can_complete_a_login() {
    let broker = TestBroker::start().await;
    let path = local_session(&broker).await;
    let curl = broker.plain_client();
    let redirect = curl.get(&path).await;
    curl.come_back(&redirect, "code=upstream-code")
        .await
        .redirects_to(LOCAL_CALLBACK);
}

#[tokio::test]
async fn a_local_plain_client_is_refused_once_a_browser_is_bound() {
    let broker = TestBroker::start().await;
    let path = local_session(&broker).await;
    assert_eq!(broker.local_browser().get(&path).await.status, 303);
    let response = broker.plain_client().get(&path).await;
    response.is_refusal(410);
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
    let broker = TestBroker::start().await;
    // The callback is not local.
    let path = broker.session(1).await;
    assert_eq!(broker.plain_client().get(&path).await.status, 200);

    // The provider is not local.
    let broker = TestBroker::start_with(|config| {
        let github = config.upstream.github.as_mut().unwrap();
        github.web_url = "https://github.com".parse().unwrap();
    })
    .await;
    let path = local_session(&broker).await;
    assert_eq!(broker.plain_client().get(&path).await.status, 200);

    // The broker is not local.
    let broker = TestBroker::start_with(|config| {
        config.base_url = "https://broker.example".parse().unwrap();
        config.cookie_keys = vec![broker::cookie_cipher::CookieKey::from_random(&[7; 32])];
    })
    .await;
    let body = with(session_body(1), "redirect_uri", LOCAL_CALLBACK);
    let response = broker.post("/v1/login/session", &body).await.json();
    let url = response["authorization_url"].as_str().unwrap().to_owned();
    let path = url.strip_prefix("https://broker.example").unwrap();
    assert_eq!(broker.plain_client().get(path).await.status, 200);
}

#[tokio::test]
async fn cookies_of_other_logins_do_not_complete_a_login() {
    let broker = TestBroker::start().await;
    sign_in(&broker, 1).await;
    let browser = broker.browser();
    browser.get(&authorize_path()).await;
    let path = broker.session(2).await;
    assert_eq!(browser.get(&path).await.status, 303);
    assert_eq!(broker.result(2).await.json()["status"], "pending");
}
