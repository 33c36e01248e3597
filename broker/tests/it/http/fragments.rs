//! The fragment of an address. A browser keeps it over every redirect without one of
//! its own, so each redirect to the consumer removes it.

use reqwest::Method;
use testkit::http::Response;

use crate::test_broker::{BASE, CALLBACK, TestBroker, back_path, session_body, with};

/// The URL of `/return`, whose empty fragment replaces the browser's.
fn return_url() -> String {
    let callback = "https%3A%2F%2Fapp.example%2Fcb";
    format!("{BASE}/return?client_id=prj_ada&redirect_uri={callback}#")
}

/// The response to a browser that navigates to `path` and follows no redirect.
async fn navigate(broker: &TestBroker, path: &str, cookies: &str) -> Response {
    let headers = [
        ("Sec-Fetch-Site", "cross-site"),
        ("Sec-Fetch-Mode", "navigate"),
        ("Sec-Fetch-Dest", "document"),
        ("Referer", "https://app.example/"),
        ("Cookie", cookies),
    ];
    broker.send(Method::GET, path, &headers).await
}

// Threats: A30.
#[tokio::test]
async fn a_login_that_ends_at_its_first_address_removes_the_fragment_before_the_callback() {
    let broker = TestBroker::start().await;
    let unreachable = with(session_body(1), "provider", "google");
    let unreachable = broker.session_with(&unreachable).await;
    let response = navigate(&broker, &unreachable, "").await;
    response.redirects_to(&return_url());
    let expired = broker.session(2).await;
    broker.advance_ms(600_000);
    let response = navigate(&broker, &expired, "").await;
    response.redirects_to(&return_url());
}

/// The redirect to the provider, or the broker's own page, removed the fragment.
#[tokio::test]
async fn a_browser_from_a_provider_or_from_the_brokers_page_is_redirected_without_a_detour() {
    let broker = TestBroker::start().await;
    let browser = broker.browser();
    let redirect = browser.get(&broker.session(1).await).await;
    assert!(redirect.location().unwrap().ends_with('#'));
    let back = back_path(&redirect, "error=access_denied");
    let response = navigate(&broker, &back, &browser.cookie_header()).await;
    response.redirects_to(CALLBACK);

    let cancel = format!("{}/cancel", broker.session(2).await);
    let pressed = broker
        .send(Method::POST, &cancel, &[("Origin", BASE)])
        .await;
    pressed.redirects_to(CALLBACK);
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
        (format!("{path}&client_id=prj_ada"), "authorize.once"),
    ] {
        let page = broker.browser().get(&change).await;
        page.is_refusal_page(400, rule);
    }
    let looked = broker.request(Method::HEAD, path).send().await;
    assert_eq!((looked.status, looked.location()), (200, None));
}
