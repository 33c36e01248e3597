//! The requirements and the headers of GitHub's REST API.

use reqwest::{Method, RequestBuilder};
use serde_json::json;

use super::GITHUB;
use crate::test_mock::{Response, TestMock};

fn call(mock: &TestMock, path: &str) -> RequestBuilder {
    let url = format!("{}{path}", mock.upstreams.github().url());
    mock.request(Method::GET, &url)
        .header("user-agent", "contract")
}

// REST API, "Getting started": a User-Agent is required.
#[tokio::test]
async fn a_call_without_a_user_agent_is_403() {
    let mock = TestMock::new().await;
    let token = mock.sign_in(GITHUB).await.text("access_token");
    let url = format!("{}/user", mock.upstreams.github().url());
    let request = mock.request(Method::GET, &url).bearer_auth(token);
    let response = Response::of(request).await;
    assert_eq!(response.status, 403);
    assert!(response.body.contains("User-Agent"));
}

// Changelog of 2026-03-12.
#[tokio::test]
async fn an_unknown_api_version_is_400() {
    let mock = TestMock::new().await;
    let token = mock.sign_in(GITHUB).await.text("access_token");
    for (version, status) in [
        ("2022-11-28", 200),
        ("2026-03-10", 200),
        ("2020-01-01", 400),
    ] {
        let request = call(&mock, "/user").bearer_auth(&token);
        let response = Response::of(request.header("x-github-api-version", version)).await;
        assert_eq!(response.status, status, "{version}");
    }
}

// Seen in several projects.
#[tokio::test]
async fn a_bad_token_is_bad_credentials() {
    let mock = TestMock::new().await;
    let response = Response::of(call(&mock, "/user").bearer_auth("gho_none")).await;
    let body = json!({
        "message": "Bad credentials",
        "documentation_url": "https://docs.github.com/rest",
        "status": "401",
    });
    assert_eq!(response.status, 401);
    assert_eq!(response.json(), body);
}

// REST API, "Authenticating": `Bearer` or `token`. A scheme is case-insensitive
// (RFC 9110).
#[tokio::test]
async fn the_scheme_is_bearer_or_token_in_any_case() {
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
        let request = call(&mock, "/user").header("authorization", format!("{scheme} {token}"));
        assert_eq!(Response::of(request).await.status, status, "{scheme}");
    }
}

#[tokio::test]
async fn a_call_without_a_token_in_the_header_is_401() {
    let mock = TestMock::new().await;
    let token = mock.sign_in(GITHUB).await.text("access_token");
    assert_eq!(Response::of(call(&mock, "/user")).await.status, 401);
    let in_the_query = call(&mock, &format!("/user?access_token={token}"));
    assert_eq!(Response::of(in_the_query).await.status, 401);
}

// REST API, "Troubleshooting": a trailing slash is a 404.
#[tokio::test]
async fn a_trailing_slash_is_404() {
    let mock = TestMock::new().await;
    let token = mock.sign_in(GITHUB).await.text("access_token");
    let response = mock.get_with_token(GITHUB, "/user/", &token).await;
    assert_eq!(response.status, 404);
}

// Changelog of 2026-03-12: absent means 2022-11-28. The header with the selected
// version is general knowledge.
#[tokio::test]
async fn the_default_version_is_the_old_one() {
    let mock = TestMock::new().await;
    let token = mock.sign_in(GITHUB).await.text("access_token");
    let selected = "x-github-api-version-selected";
    let response = mock.get_with_token(GITHUB, "/user", &token).await;
    assert_eq!(response.header(selected), "2022-11-28");
    let new = call(&mock, "/user").header("x-github-api-version", "2026-03-10");
    let response = Response::of(new.bearer_auth(&token)).await;
    assert_eq!(response.header(selected), "2026-03-10");
}

// REST API, "Rate limits": five headers, counted per hour and user.
#[tokio::test]
async fn every_response_has_the_remaining_calls_of_the_hour() {
    let mock = TestMock::new().await;
    let token = mock.sign_in(GITHUB).await.text("access_token");
    for (path, used) in [("/user", "1"), ("/user/emails", "2")] {
        let response = mock.get_with_token(GITHUB, path, &token).await;
        let left = if used == "1" { "4999" } else { "4998" };
        let reset = (mock.now_ms() / 1000 + 3600).to_string();
        assert_eq!(response.header("x-ratelimit-limit"), "5000");
        assert_eq!(response.header("x-ratelimit-used"), used);
        assert_eq!(response.header("x-ratelimit-remaining"), left);
        assert_eq!(response.header("x-ratelimit-reset"), reset);
        assert_eq!(response.header("x-ratelimit-resource"), "core");
    }
    mock.advance_ms(3_600_000);
    let response = mock.get_with_token(GITHUB, "/user", &token).await;
    assert_eq!(response.header("x-ratelimit-used"), "1");
}

// The same page: 403 with nothing left, until the reset.
#[tokio::test]
async fn calls_beyond_the_hourly_limit_are_refused_until_the_reset() {
    let mock = TestMock::with(|settings| settings.github.hourly_calls = Some(2)).await;
    let token = mock.sign_in(GITHUB).await.text("access_token");
    let ask = async || mock.get_with_token(GITHUB, "/user", &token).await;
    assert_eq!(ask().await.header("x-ratelimit-remaining"), "1");
    let last = ask().await;
    assert_eq!(last.status, 200);
    assert_eq!(last.header("x-ratelimit-remaining"), "0");
    let refused = ask().await;
    assert_eq!(refused.status, 403);
    assert_eq!(refused.header("x-ratelimit-remaining"), "0");
    assert!(
        refused
            .text("message")
            .starts_with("API rate limit exceeded")
    );
    mock.advance_ms(3_599_999);
    assert_eq!(ask().await.status, 403);
    mock.advance_ms(1);
    assert_eq!(ask().await.status, 200);
}

// The second header is in a changelog, the first not confirmed.
#[tokio::test]
async fn the_headers_list_the_scopes_unless_switched_off() {
    let mock = TestMock::new().await;
    let token = mock.sign_in(GITHUB).await.text("access_token");
    let response = mock.get_with_token(GITHUB, "/user/emails", &token).await;
    assert_eq!(response.header("x-oauth-scopes"), "read:user, user:email");
    assert_eq!(
        response.header("x-accepted-oauth-scopes"),
        "user, user:email"
    );

    let mock = TestMock::with(|settings| settings.github.unconfirmed.github_scope_headers = false);
    let mock = mock.await;
    let token = mock.sign_in(GITHUB).await.text("access_token");
    let response = mock.get_with_token(GITHUB, "/user/emails", &token).await;
    assert_eq!(response.header("x-oauth-scopes"), "");
    assert_eq!(response.header("x-accepted-oauth-scopes"), "");
}
