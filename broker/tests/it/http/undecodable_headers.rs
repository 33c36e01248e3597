//! Headers with bytes that are not UTF-8. Rocket drops them; a dropped one does not count
//! as absent, and a page names a cookie that hides all others.

use reqwest::Method;
use testkit::http::Response;

use crate::test_broker::{BASE, TestBroker, authorize_path, back_path, session_body, token_body};

/// Each byte that ends a header of ASCII in bytes that are no UTF-8.
fn high_bytes() -> impl Iterator<Item = u8> {
    0x80..=0xFF
}

/// A header's value that ends in `byte`.
fn value(text: &str, byte: u8) -> Vec<u8> {
    [text.as_bytes(), &[byte]].concat()
}

// Threats: W2.
#[tokio::test]
async fn a_cookie_that_hides_all_others_is_named_at_every_address_of_a_browser() {
    let broker = TestBroker::start().await;
    let (path, browser) = (broker.session(1).await, broker.browser());
    let redirect = browser.get(&authorize_path()).await;
    let back = back_path(&redirect, "code=upstream-code");
    for byte in high_bytes() {
        let cookies = value(&format!("{}; caf", browser.cookie_header()), byte);
        for target in [&path, &authorize_path(), &back] {
            let request = broker.request(Method::GET, target);
            let request = request.header("Accept", "text/html");
            let page = request.header("Cookie", &cookies).send().await;
            page.is_refusal_page(400, "request.cookies");
            assert!(page.text().contains("Delete the cookies"), "{page:?}");
        }
    }
    assert_eq!(broker.calls_upstream().await, 0);
    assert_eq!(browser.get(&back).await.status, 303, "nothing was consumed");
}

#[tokio::test]
async fn a_backend_may_send_any_cookie() {
    let broker = TestBroker::start().await;
    let token = broker.access_token().await;
    let request = broker
        .request(Method::GET, "/v1/profile")
        .bearer_auth(token);
    let response = request.header("Cookie", b"caf\xe9=1").send().await;
    assert_eq!(response.status, 200);
}

/// The answer to a confirmation whose two headers of this name are ours and this one.
async fn confirm_with(broker: &TestBroker, name: &str, own: &str, other: &[u8]) -> Response {
    let path = format!("{}/continue", broker.session(1).await);
    let request = broker.request(Method::POST, &path).header("Origin", BASE);
    let request = match name {
        "Origin" => request,
        _ => request.header(name, own),
    };
    request.header(name, other).send().await
}

// Threats: W2.
#[tokio::test]
async fn an_origin_that_was_dropped_is_no_absent_one() {
    for byte in high_bytes() {
        let broker = TestBroker::start().await;
        let evil = value("http://evil", byte);
        let refused = confirm_with(&broker, "Origin", BASE, &evil).await;
        refused.is_refusal(403);
        assert_eq!(broker.last_rule(), Some("relay.own_page"), "{byte:x}");
        let cross = value("cross-site", byte);
        let broker = TestBroker::start().await;
        let refused = confirm_with(&broker, "Sec-Fetch-Site", "same-origin", &cross).await;
        refused.is_refusal(403);
    }
}

// Threats: W2.
#[tokio::test]
async fn a_referrer_that_was_dropped_is_a_foreign_page() {
    let broker = TestBroker::start().await;
    let path = broker.session(1).await;
    for byte in high_bytes() {
        let request = broker.request(Method::GET, &path);
        let referrer = value("https://evil.example/", byte);
        request.header("Referer", referrer).send().await;
        let event = broker.events().pop().unwrap();
        assert_eq!(event.provenance.unwrap().as_str(), "foreign", "{byte:x}");
    }
}

// Threats: W2.
#[tokio::test]
async fn two_headers_are_two_although_one_was_dropped() {
    let broker = TestBroker::start().await;
    let token = broker.access_token().await;
    let body = token_body("x").to_string();
    for byte in high_bytes() {
        let profile = broker.request(Method::GET, "/v1/profile");
        let profile = profile.bearer_auth(&token);
        let twice = profile.header("Authorization", value("Bearer x", byte));
        twice.send().await.is_refusal(400);
        assert_eq!(broker.last_rule(), Some("bearer.once"), "{byte:x}");

        let exchange = broker.request(Method::POST, "/v1/token");
        let exchange = exchange.header("Content-Type", "application/json");
        let twice = exchange.header("Content-Type", value("text/plain; x=", byte));
        twice.body(body.clone()).send().await.is_refusal(415);
    }
}

#[tokio::test]
async fn one_that_was_dropped_does_not_count() {
    let broker = TestBroker::start().await;
    for byte in high_bytes() {
        let profile = broker.request(Method::GET, "/v1/profile");
        let profile = profile.header("Authorization", value("Bearer x", byte));
        profile.send().await.is_refusal(401);

        let start = broker.request(Method::POST, "/v1/login/session");
        let start = start.header("Content-Type", value("application/json; x=", byte));
        let start = start.body(session_body(1).to_string());
        start.send().await.is_refusal(415);
    }
}
