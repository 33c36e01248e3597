//! The requirements and the headers of GitHub's REST API.

use serde_json::json;

use crate::test_mock::{GITHUB, Response, TestMock};

/// The response to a call with this header more.
async fn call_with(mock: &TestMock, path: &str, name: &str, value: &str) -> Response {
    let request = mock.request(GITHUB, "GET", path);
    Response::of(request.header("user-agent", "contract").header(name, value)).await
}

// REST API, "Getting started": a User-Agent is required. "Troubleshooting": a trailing slash
// is a 404.
#[tokio::test]
async fn a_call_without_a_user_agent_is_403_and_one_of_another_path_404() {
    let mock = TestMock::new().await;
    let token = mock.sign_in(GITHUB).await.text("access_token");
    let request = mock.request(GITHUB, "GET", "/user").bearer_auth(&token);
    let response = Response::of(request).await;
    assert_eq!(response.status, 403);
    assert!(response.body.contains("User-Agent"));
    assert_eq!(mock.get_with(&token, GITHUB, "/user/").await.status, 404);
}

// REST API, "Authenticating": `Bearer` or `token`. A scheme is case-insensitive
// (RFC 9110).
#[tokio::test]
async fn the_token_is_in_the_header_with_the_scheme_bearer_or_token_in_any_case() {
    let mock = TestMock::new().await;
    let token = mock.sign_in(GITHUB).await.text("access_token");
    for (scheme, status) in [
        ("Bearer", 200),
        ("bearer", 200),
        ("token", 200),
        ("Token", 200),
        ("Basic", 401),
        ("tokens", 401),
    ] {
        let credentials = format!("{scheme} {token}");
        let response = call_with(&mock, "/user", "authorization", &credentials).await;
        assert_eq!(response.status, status, "{scheme}");
    }
    for path in ["/user", &format!("/user?access_token={token}")] {
        assert_eq!(call_with(&mock, path, "accept", "*/*").await.status, 401);
    }
    // Seen in several projects.
    let response = mock.get_with("gho_none", GITHUB, "/user").await;
    let body = json!({
        "message": "Bad credentials",
        "documentation_url": "https://docs.github.com/rest",
        "status": "401",
    });
    assert_eq!((response.status, response.json()), (401, body));
}

// Changelog of 2026-03-12: absent means 2022-11-28. The header with the selected version is
// general knowledge.
#[tokio::test]
async fn the_default_version_is_the_old_one_and_an_unknown_one_is_400() {
    let mock = TestMock::new().await;
    let token = mock.sign_in(GITHUB).await.text("access_token");
    for (version, status, selected) in [
        (None, 200, "2022-11-28"),
        (Some("2022-11-28"), 200, "2022-11-28"),
        (Some("2026-03-10"), 200, "2026-03-10"),
        (Some("2020-01-01"), 400, ""),
    ] {
        let request = mock.request(GITHUB, "GET", "/user").bearer_auth(&token);
        let mut request = request.header("user-agent", "contract");
        if let Some(version) = version {
            request = request.header("x-github-api-version", version);
        }
        let response = Response::of(request).await;
        let answer = response.header("x-github-api-version-selected");
        assert_eq!((response.status, answer), (status, selected), "{version:?}");
    }
}

#[track_caller]
fn assert_limit(response: &Response, expected: [&str; 5]) {
    let names = ["limit", "used", "remaining", "reset", "resource"];
    let headers = names.map(|name| response.header(&format!("x-ratelimit-{name}")));
    assert_eq!(headers, expected);
}

// REST API, "Rate limits": five headers, counted per hour and user.
#[tokio::test]
async fn every_response_has_the_remaining_calls_of_the_hour() {
    let mock = TestMock::new().await;
    let token = mock.sign_in(GITHUB).await.text("access_token");
    for (wait_ms, path, used, left) in [
        (0, "/user", "1", "4999"),
        (3_599_999, "/user/emails", "2", "4998"),
        (1, "/user", "1", "4999"),
    ] {
        mock.advance_ms(wait_ms);
        let response = mock.get_with(&token, GITHUB, path).await;
        let hours = mock.now_ms() / 3_600_000 + 1;
        assert_limit(
            &response,
            ["5000", used, left, &(hours * 3600).to_string(), "core"],
        );
    }
}

// The same page: 403 with nothing left, until the reset.
#[tokio::test]
async fn calls_beyond_the_hourly_limit_are_refused_until_the_reset() {
    let mock = TestMock::with(|settings| settings.github.hourly_calls = Some(2)).await;
    let token = mock.sign_in(GITHUB).await.text("access_token");
    for (wait_ms, status, left) in [
        (0, 200, "1"),
        (0, 200, "0"),
        (0, 403, "0"),
        (3_599_999, 403, "0"),
        (1, 200, "1"),
    ] {
        mock.advance_ms(wait_ms);
        let response = mock.get_with(&token, GITHUB, "/user").await;
        let answer = (response.status, response.header("x-ratelimit-remaining"));
        assert_eq!(answer, (status, left));
        let is_refused = response.body.contains("API rate limit exceeded");
        assert_eq!(is_refused, status == 403);
    }
}

// The second header is in a changelog, the first not confirmed.
#[tokio::test]
async fn the_headers_list_the_scopes_unless_switched_off() {
    for (is_on, scopes, accepted) in [
        (true, "read:user, user:email", "user, user:email"),
        (false, "", ""),
    ] {
        let mock = TestMock::with(|settings| {
            settings.github.unconfirmed.github_scope_headers = is_on;
        });
        let mock = mock.await;
        let token = mock.sign_in(GITHUB).await.text("access_token");
        let response = mock.get_with(&token, GITHUB, "/user/emails").await;
        assert_eq!(response.header("x-oauth-scopes"), scopes);
        assert_eq!(response.header("x-accepted-oauth-scopes"), accepted);
    }
}
