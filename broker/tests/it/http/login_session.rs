//! `POST /v1/login/session` and `GET /api/providers`.

use broker::config::Config;
use reqwest::Method;
use serde_json::json;

use crate::test_broker::{
    BASE, CALLBACK, TestBroker, authorize_path, authorize_query, authorize_with, session_body,
    state, with,
};

// Threats: A11.
#[tokio::test]
async fn an_authorization_url_is_the_base_url_and_a_handle() {
    let broker = TestBroker::start().await;
    let response = broker.post("/v1/login/session", &session_body(1)).await;
    let url = response.json()["authorization_url"].clone();
    let url = url.as_str().unwrap();
    assert_eq!(
        response.text(),
        format!(r#"{{"authorization_url":"{url}","expires_in":600}}"#)
    );
    assert_eq!(response.status, 200);
    response.has_security_headers();
    let handle = url.strip_prefix(&format!("{BASE}/login/")).unwrap();
    assert_eq!(handle.len(), 43);
    assert!(
        handle
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
    );
    assert_ne!(broker.session(2).await, format!("/login/{handle}"));
}

// Threats: A31, A32, CVE-2026-40575.
#[tokio::test]
async fn no_header_changes_the_authorization_url() {
    let broker = TestBroker::start().await;
    for (n, (name, value)) in (1..).zip([
        ("Host", "evil.test"),
        ("X-Forwarded-Host", "evil.test"),
        ("X-Forwarded-Proto", "https"),
        ("Forwarded", "host=evil.test;proto=https"),
        ("X-Original-URL", "/v1/profile"),
    ]) {
        let request = broker
            .request(Method::POST, "/v1/login/session")
            .header(name, value)
            .json(&session_body(n));
        let url = request.send().await.json()["authorization_url"].clone();
        let path = url.as_str().unwrap().strip_prefix(BASE);
        let path = path.unwrap_or_else(|| panic!("{name}: {url}"));
        let visit = broker.browser().with_header(name, value).get(path).await;
        let to_provider = visit.location().unwrap();
        assert!(!to_provider.contains("evil"), "{name}: {to_provider}");
    }
}

// Threats: A31.
#[tokio::test]
async fn no_parameter_changes_a_redirect() {
    const NAMES: [&str; 7] = [
        "next",
        "url",
        "redirect",
        "return_to",
        "back",
        "target_link_uri",
        "post_logout_redirect_uri",
    ];
    let broker = TestBroker::start().await;
    let extra: Vec<_> = NAMES
        .map(|name| format!("{name}=https://evil.test/"))
        .into();
    let extra = extra.join("&");

    let path = broker.session(1).await;
    let browser = broker.browser();
    let redirect = browser.get(&format!("{path}?{extra}")).await;
    let to_provider = redirect.location().unwrap();
    assert!(
        to_provider.starts_with(&broker.github.uri()),
        "{to_provider}"
    );
    assert!(!to_provider.contains("evil.test"), "{to_provider}");
    let query = format!("code=upstream-code&{extra}");
    browser
        .come_back(&redirect, &query)
        .await
        .redirects_to(CALLBACK);

    let redirect = browser.get(&format!("{}&{extra}", authorize_path())).await;
    let to_provider = redirect.location().unwrap();
    assert!(!to_provider.contains("evil.test"), "{to_provider}");
    let query = format!("error=access_denied&{extra}");
    let callback = format!("{CALLBACK}?error=access_denied&state={}", state());
    browser
        .come_back(&redirect, &query)
        .await
        .redirects_to(&callback);
}

// Threats: A1, CVE-2020-15233, CVE-2020-15234.
#[tokio::test]
async fn a_callback_that_is_not_registered_byte_for_byte_is_refused() {
    let broker = TestBroker::start().await;
    for similar in SIMILAR_CALLBACKS {
        let body = with(session_body(1), "redirect_uri", similar);
        broker
            .post("/v1/login/session", &body)
            .await
            .is_refusal(400);
        let mut query = authorize_query();
        query[1].1 = similar.to_owned();
        broker.get(&authorize_with(&query)).await.is_refusal(400);
        assert_eq!(broker.last_rule(), Some("redirect_uri.registered"));
    }
    broker.session(1).await;
}

/// Addresses that look like a registered callback, besides those that the table of
/// malformed requests has.
const SIMILAR_CALLBACKS: [&str; 13] = [
    "https://app.example/%63b",
    "https://app.example/%2e/cb",
    "https://app.example:443/cb",
    "https://app.example\\cb",
    "https://xn--app-.example/cb",
    "https://аpp.example/cb",
    "http://localhost/cb",
    "http://localhost:3001/cb",
    "http://localhost:03000/cb",
    "http://app.localhost:3000/cb",
    "http://127.0.0.1:3000/cb",
    "http://[::1]:3000/cb",
    "https://bob.example/cb",
];

// Threats: GHSA-7qjx-gp9h-65qj.
#[tokio::test]
async fn a_disabled_provider_is_refused_at_the_session() {
    let check = async |broker: TestBroker| {
        let body = with(session_body(1), "provider", "google");
        broker
            .post("/v1/login/session", &body)
            .await
            .is_refusal(400);
        assert_eq!(broker.last_rule(), Some("provider.offered"));
        // The key is still fresh.
        broker.session(1).await;
    };
    check(TestBroker::start_with(|config| config.upstream.google = None).await).await;
    check(
        TestBroker::start_with(|config| config.upstream.google.as_mut().unwrap().enabled = false)
            .await,
    )
    .await;
}

#[tokio::test]
async fn the_list_of_providers_shows_their_configuration() {
    let check = async |broker: TestBroker, expected: &str| {
        let response = broker.get("/api/providers").await;
        assert_eq!((response.status, response.text()), (200, expected));
        assert_eq!(response.header("content-type"), Some("application/json"));
        response.has_security_headers();
    };
    check(
        TestBroker::start().await,
        r#"[{"id":"google","configured":true,"enabled":true,"available":true},{"id":"github","configured":true,"enabled":true,"available":true}]"#,
    )
    .await;
    check(
        TestBroker::start_with(|config| {
            config.upstream.google = None;
            config.upstream.github.as_mut().unwrap().enabled = false;
        })
        .await,
        r#"[{"id":"google","configured":false,"enabled":false,"available":false},{"id":"github","configured":true,"enabled":false,"available":false}]"#,
    )
    .await;
}

#[tokio::test]
async fn an_unreachable_provider_is_unavailable_for_five_minutes() {
    let nowhere = |config: &mut Config| {
        let github = config.upstream.github.as_mut().unwrap();
        github.web_url = "http://127.0.0.1:1".parse().unwrap();
    };
    let broker = TestBroker::start_with(nowhere).await;
    let github = async || broker.get("/api/providers").await.json()[1]["available"].clone();
    let browser = broker.browser();
    let redirect = browser.get(&broker.session(1).await).await;
    assert_eq!(github().await, json!(true));
    let returned = browser.come_back(&redirect, "code=upstream-code").await;
    returned.redirects_to(CALLBACK);
    assert_eq!(github().await, json!(false));
    broker.advance_ms(290_000);
    assert_eq!(github().await, json!(false));
    broker.advance_ms(10_000);
    assert_eq!(github().await, json!(true));
}
