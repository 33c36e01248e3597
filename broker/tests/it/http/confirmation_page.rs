//! The confirmation page of the relay guard: the visits that get it, and its two
//! forms, without which nothing changes.

use reqwest::Method;
use serde_json::json;
use testkit::http::Response;

use crate::test_broker::{
    BASE, CALLBACK, LOCAL_CALLBACK, TestBroker, parameter, session_body, with,
};

pub(super) const EVIL: &str = "https://evil.example/";

#[track_caller]
pub(super) fn is_confirmation_page(response: &Response) {
    assert_eq!(response.status, 200, "{response:?}");
    let mark = "data-question=\"relay\"";
    assert!(response.text().contains(mark), "{response:?}");
    assert_eq!(response.location(), None);
    assert_eq!(response.set_cookies(), Vec::<String>::new());
}

// Threats: M2, A34.
#[tokio::test]
async fn the_page_names_project_and_host_and_has_its_own_headers() {
    let broker = TestBroker::start_with(|config| {
        config.projects[0].name = "<b>Ada</b>".parse().unwrap();
    })
    .await;
    let body = with(session_body(1), "redirect_uri", LOCAL_CALLBACK);
    let path = broker.session_with(&body).await;
    let page = broker.browser_on(EVIL).get(&path).await;
    is_confirmation_page(&page);
    for text in [
        "&#60;b&#62;Ada&#60;/b&#62;",
        "<span>at localhost:3000</span>",
        "GitHub",
        &format!("<form method=\"post\" action=\"{path}/continue\""),
        &format!("<form method=\"post\" action=\"{path}/cancel\""),
    ] {
        assert!(page.text().contains(text), "{text} in {page:?}");
    }
    let policy = "default-src 'none'; style-src 'self'; script-src 'self'; \
                  base-uri 'none'; frame-ancestors 'none'";
    for (name, value) in [
        ("content-type", "text/html; charset=utf-8"),
        ("referrer-policy", "same-origin"),
        ("content-security-policy", policy),
    ] {
        assert_eq!(page.header(name), Some(value));
    }
    let script = broker.get("/question.js").await;
    assert_eq!(script.status, 200);
    assert_eq!(script.header("content-type"), Some("text/javascript"));
}

// Threats: X4, X9, M5, CVE-2026-7507.
#[tokio::test]
async fn continue_binds_the_login_and_redirects_without_a_fragment() {
    let broker = TestBroker::start().await;
    let path = broker.session(1).await;
    let browser = broker.browser_on(EVIL);
    is_confirmation_page(&browser.get(&path).await);
    let redirect = browser.press(&format!("{path}/continue")).await;
    assert_eq!(redirect.status, 303);
    let to_provider = redirect.location().unwrap();
    assert!(
        to_provider.starts_with(&broker.github.url()),
        "{to_provider}"
    );
    assert!(to_provider.ends_with('#'), "{to_provider}");
    assert_eq!(parameter(to_provider, "prompt").unwrap(), "select_account");

    // It is bound to this browser, which is asked again when it comes from elsewhere: a
    // cookie that says so can be planted. Others are refused.
    is_confirmation_page(&browser.get(&path).await);
    for action in ["continue", "cancel"] {
        let other = broker.browser().press(&format!("{path}/{action}")).await;
        other.is_refusal_page(410, "handle.one_browser");
    }
    assert_eq!(broker.calls_upstream(), 0);

    let returned = browser.come_back(&redirect, "code=upstream-code").await;
    returned.redirects_to(CALLBACK);
    broker.has_status(1, "succeeded").await;
}

// Threats: X6, M6.
#[tokio::test]
async fn cancel_fails_the_login_once() {
    let broker = TestBroker::start().await;
    let path = broker.session(1).await;
    let browser = broker.browser_on(EVIL);
    is_confirmation_page(&browser.get(&path).await);
    let returned = browser.press(&format!("{path}/cancel")).await;
    returned.redirects_to(CALLBACK);
    assert_eq!(broker.last_rule(), Some("relay.cancelled"));
    assert!(broker.events().pop().unwrap().committed());
    let failed = json!({ "status": "failed", "error": "access_denied" });
    broker.result(1).await.is_json(200, &failed);
    broker.result(1).await.is_refusal(400);
    assert_eq!(broker.calls_upstream(), 0);

    // Later visits are redirected to the callback.
    let late = browser.press(&format!("{path}/continue")).await;
    late.redirects_to(CALLBACK);
    broker.browser().get(&path).await.redirects_to(CALLBACK);
}

// Threats: X3.
#[tokio::test]
async fn a_form_is_accepted_only_from_the_brokers_own_page() {
    let broker = TestBroker::start().await;
    let path = broker.session(1).await;
    let foreign: [&[(&str, &str)]; 8] = [
        &[],
        &[("Origin", "null")],
        &[("Origin", "https://evil.example")],
        &[("Origin", "https://app.example")],
        &[("Origin", "http://127.0.0.1:8001")],
        &[("Origin", BASE), ("Origin", BASE)],
        &[("Origin", BASE), ("Sec-Fetch-Site", "cross-site")],
        &[("Origin", BASE), ("Sec-Fetch-Site", "none")],
    ];
    let (post, accept) = (Method::POST, ("Accept", "text/html"));
    for headers in foreign {
        for action in ["continue", "cancel"] {
            let path = format!("{path}/{action}");
            let page = broker
                .send(post.clone(), &path, &[headers, &[accept]].concat())
                .await;
            page.is_refusal_page(403, "relay.own_page");
        }
    }
    broker.has_status(1, "pending").await;
    // No browser is bound. One that sends no header but the origin is accepted, too.
    let path = format!("{path}/continue");
    let redirect = broker.send(post, &path, &[("Origin", BASE)]).await;
    assert_eq!(redirect.status, 303);
}

#[tokio::test]
async fn the_forms_of_an_expired_or_unknown_login_do_nothing() {
    let broker = TestBroker::start().await;
    let path = broker.session(1).await;
    broker.advance_ms(600_000);
    for action in ["continue", "cancel"] {
        let late = broker.browser().press(&format!("{path}/{action}")).await;
        late.redirects_to(CALLBACK);
        let unknown = broker.browser().press(&format!("/login/x/{action}")).await;
        unknown.is_refusal_page(404, "handle.known");
    }
    broker.result(1).await.is_refusal(400);
}
