//! The clean callback flow: `POST /v1/login/session` and `GET /api/providers`; the visit of
//! `GET /login/{handle}`; the fragment of an address, which a browser keeps over every
//! redirect without one of its own. The exploration of `consistency` has the answers to a
//! login in each of its states.

use broker::config::Config;
use broker::relay::RelayGuard;
use reqwest::Method;

use crate::test_broker::{
    BASE, CALLBACK, LOCAL_CALLBACK, TestBroker, authorize_path, session_body, state, with,
};

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
async fn a_local_plain_client_does_not_bind_a_login_while_the_guard_is_off() {
    let off = |config: &mut Config| config.projects[0].relay_guard = RelayGuard::Off;
    let broker = TestBroker::start_with(off).await;
    let path = broker.local_session().await;
    let curl = broker.plain_client();
    let curls_back = curl.to_provider(&path).await;
    let browser = broker.local_browser();
    let back = browser.to_provider(&path).await;
    broker.plain_client().get(&path).await.is_refusal(410);
    browser.get(&back).await.redirects_to(LOCAL_CALLBACK);
    assert_eq!(broker.calls_upstream(), 3, "the user signed in");
    curl.get(&curls_back).await.redirects_to(LOCAL_CALLBACK);
    let again = broker.plain_client().get(&path).await;
    again.redirects_to(LOCAL_CALLBACK);
}

#[tokio::test]
async fn a_local_client_with_fetch_metadata_or_a_foreign_referrer_must_confirm() {
    let broker = TestBroker::start().await;
    let path = broker.local_session().await;
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
        let path = broker.local_session().await;
        assert_eq!(broker.plain_client().get(&path).await.status, 200);
    }
}

/// The URL of `/return`, whose empty fragment replaces the browser's.
fn return_url() -> String {
    let callback = "https%3A%2F%2Fapp.example%2Fcb";
    format!("{BASE}/return?client_id=prj_ada&redirect_uri={callback}#")
}

// Threats: A30.
#[tokio::test]
async fn a_login_that_ends_at_its_first_address_removes_the_fragment_and_an_unknown_one_has_a_page()
{
    let broker = TestBroker::start().await;
    let unreachable = with(session_body(1), "provider", "google");
    let unreachable = broker.session_with(&unreachable).await;
    let navigation = [
        ("Sec-Fetch-Site", "cross-site"),
        ("Sec-Fetch-Mode", "navigate"),
        ("Sec-Fetch-Dest", "document"),
        ("Referer", "https://app.example/"),
    ];
    let response = broker.send(Method::GET, &unreachable, &navigation).await;
    response.redirects_to(&return_url());
    let well_formed = format!("/login/{}", "a".repeat(43));
    for unknown in ["/login/x", "/login/unknown", &well_formed] {
        let page = broker.browser().get(unknown).await;
        page.is_refusal_page(404, "handle.known");
    }
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
