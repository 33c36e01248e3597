//! `POST /v1/login/session` and `GET /api/providers`.

use reqwest::Method;
use serde_json::json;

use crate::test_broker::{BASE, CALLBACK, TestBroker, authorize_path, session_body, state, with};

// Threats: A11.
#[tokio::test]
async fn an_authorization_url_is_the_base_url_and_a_handle() {
    let broker = TestBroker::start().await;
    let response = broker.post("/v1/login/session", &session_body(1)).await;
    let url = response.json()["authorization_url"].clone();
    let url = url.as_str().unwrap();
    let expected = format!(r#"{{"authorization_url":"{url}","expires_in":600}}"#);
    response.is(200, &expected);
    let handle = url.strip_prefix(&format!("{BASE}/login/")).unwrap();
    assert_eq!(handle.len(), 43);
    let is_base64url = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    assert!(handle.bytes().all(is_base64url), "{handle}");
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
        let request = broker.request(Method::POST, "/v1/login/session");
        let request = request.header(name, value).json(&session_body(n));
        let url = request.send().await.json()["authorization_url"].clone();
        let path = url.as_str().unwrap().strip_prefix(BASE);
        let path = path.unwrap_or_else(|| panic!("{name}: {url}"));
        let visit = broker.browser().with_header(name, value).get(path).await;
        let to_provider = visit.location().unwrap();
        assert!(!to_provider.contains("evil"), "{name}: {to_provider}");
    }
}

// Threats: GHSA-7qjx-gp9h-65qj.
#[tokio::test]
async fn the_list_of_providers_shows_their_configuration_and_a_disabled_one_starts_nothing() {
    let github = r#"{"id":"github","configured":true,"enabled":true,"available":true}"#;
    for (configured, enabled, rule) in [
        (true, true, "upstream.unavailable"),
        (true, false, "provider.offered"),
        (false, false, "provider.offered"),
    ] {
        let broker = TestBroker::start_with(|config| {
            config.upstream.google.as_mut().unwrap().enabled = enabled;
            config.upstream.google.take_if(|_| !configured);
        })
        .await;
        let expected = format!(
            r#"[{{"id":"google","configured":{configured},"enabled":{enabled},"available":{enabled}}},{github}]"#
        );
        broker.get("/api/providers").await.is(200, &expected);

        let path = authorize_path().replace("github", "google");
        let returned = broker.browser().get(&path).await;
        let error = format!("error=provider_unavailable&state={}", state());
        returned.redirects_to(&format!("{CALLBACK}?{error}#"));
        assert_eq!(broker.last_rule(), Some(rule));
        if !enabled {
            let body = with(session_body(1), "provider", "google");
            broker.refuses("/v1/login/session", &body, 400, rule).await;
            // The key is still fresh.
            broker.session(1).await;
        }
    }
}

#[tokio::test]
async fn an_unreachable_provider_is_unavailable_for_five_minutes() {
    let broker = TestBroker::start_with(|config| {
        let github = config.upstream.github.as_mut().unwrap();
        github.web_url = "http://127.0.0.1:1".parse().unwrap();
    })
    .await;
    let is_available = async |expected: bool| {
        let providers = broker.get("/api/providers").await.json();
        assert_eq!(providers[1]["available"], json!(expected));
    };
    let (browser, back) = broker.at_provider(1).await;
    is_available(true).await;
    browser.get(&back).await.redirects_to(CALLBACK);
    is_available(false).await;
    broker.advance_ms(290_000);
    is_available(false).await;
    broker.advance_ms(10_000);
    is_available(true).await;
}
