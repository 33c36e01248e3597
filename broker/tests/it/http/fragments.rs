//! The fragment of an address. A browser keeps it over every redirect without one of
//! its own, so each redirect to the consumer removes it.

use reqwest::Method;
use testkit::http::Response;

use crate::test_broker::{
    BASE, CALLBACK, TestBroker, authorize_query, authorize_with, back_path, session_body, state,
    with,
};

/// The URL of `/return`, whose empty fragment replaces the browser's.
fn return_url() -> String {
    let callback = "https%3A%2F%2Fapp.example%2Fcb";
    format!("{BASE}/return?client_id=prj_ada&redirect_uri={callback}#")
}

/// The response to a browser that navigates to `path` and follows no redirect.
async fn navigate(broker: &TestBroker, path: &str, cookies: &str) -> Response {
    let request = broker
        .request(Method::GET, path)
        .header("Sec-Fetch-Site", "cross-site")
        .header("Sec-Fetch-Mode", "navigate")
        .header("Sec-Fetch-Dest", "document")
        .header("Referer", "https://app.example/")
        .header("Cookie", cookies);
    request.send().await
}

// Threats: A30.
#[tokio::test]
async fn an_expired_login_removes_the_fragment_before_the_callback() {
    let broker = TestBroker::start().await;
    let path = broker.session(1).await;
    broker.advance_ms(600_000);
    navigate(&broker, &path, "")
        .await
        .redirects_to(&return_url());
}

// Threats: A30.
#[tokio::test]
async fn an_unreachable_provider_removes_the_fragment_before_the_callback() {
    let broker = TestBroker::start().await;
    let path = broker
        .session_with(&with(session_body(1), "provider", "google"))
        .await;
    navigate(&broker, &path, "")
        .await
        .redirects_to(&return_url());
}

#[tokio::test]
async fn a_refused_authorization_request_carries_an_empty_fragment() {
    let broker = TestBroker::start().await;
    let mut query = authorize_query();
    query.retain(|(name, _)| *name != "code_challenge");
    let response = navigate(&broker, &authorize_with(&query), "").await;
    response.redirects_to(&format!(
        "{CALLBACK}?error=invalid_request&state={}#",
        state()
    ));
}

/// The redirect to the provider removed the fragment.
#[tokio::test]
async fn a_callback_from_a_provider_redirects_without_a_detour() {
    let broker = TestBroker::start().await;
    let path = broker.session(1).await;
    let browser = broker.browser();
    let redirect = browser.get(&path).await;
    assert!(redirect.location().unwrap().ends_with('#'));
    let back = back_path(&redirect, "error=access_denied");
    let (name, value) = browser.cookies().pop_first().unwrap();
    navigate(&broker, &back, &format!("{name}={value}"))
        .await
        .redirects_to(CALLBACK);
}

#[tokio::test]
async fn a_form_on_the_brokers_own_page_redirects_without_a_detour() {
    let broker = TestBroker::start().await;
    let path = broker.session(1).await;
    let visitor = broker.browser_on("https://evil.test/");
    assert_eq!(visitor.get(&path).await.status, 200);
    let cancelled = broker
        .request(Method::POST, &format!("{path}/cancel"))
        .header("Origin", BASE);
    cancelled.send().await.redirects_to(CALLBACK);
}

#[tokio::test]
async fn return_redirects_to_registered_callbacks_alone() {
    let broker = TestBroker::start().await;
    let path = return_url();
    let path = path.strip_prefix(BASE).unwrap().trim_end_matches('#');
    broker.get(path).await.redirects_to(CALLBACK);
    for (change, rule) in [
        (path.replace("prj_ada", "prj_nobody"), "authorize.client"),
        (
            path.replace("app.example", "evil.test"),
            "redirect_uri.registered",
        ),
        (path.replace("cb", "cb%3Fx"), "redirect_uri.registered"),
        ("/return".to_owned(), "authorize.client"),
        (format!("{path}&client_id=prj_ada"), "authorize.once"),
    ] {
        let response = broker.get(&change).await;
        response.is_refusal(400);
        assert_eq!(broker.last_event_rule(), Some(rule), "{change}");
    }
    let looked = broker.request(Method::HEAD, path).send().await;
    assert_eq!((looked.status, looked.location()), (200, None));
}
