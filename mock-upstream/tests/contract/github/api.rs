//! GitHub's REST API.

use mock_upstream::{Next, User};
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use super::GITHUB;
use crate::test_mock::{Response, TestMock, authorization, redemption, seed_account};

fn call(mock: &TestMock, path: &str) -> RequestBuilder {
    let url = format!("{}{path}", mock.upstreams.github().url());
    mock.request(Method::GET, &url)
        .header("user-agent", "contract")
}

async fn token_with_scope(mock: &TestMock, scope: &str) -> String {
    let params = authorization(GITHUB).with("scope", scope);
    let code = mock.code_for(GITHUB, &params).await;
    mock.token(GITHUB, &redemption(&code))
        .await
        .text("access_token")
}

async fn body_of(user: User, path: &str) -> Value {
    let mock = TestMock::new().await;
    mock.queue(GITHUB, Next::User(user));
    let token = mock.sign_in(GITHUB).await.text("access_token");
    Response::of(call(&mock, path).bearer_auth(token))
        .await
        .json()
}

// REST API reference, "Get the authenticated user".
#[tokio::test]
async fn the_account_has_a_numeric_id_and_a_login() {
    let body = body_of(seed_account(GITHUB, "ada"), "/user").await;
    assert_eq!(body["id"], 9_000_001);
    assert_eq!(body["login"], "ada-mock");
    assert_eq!(body["name"], "Ada Lovelace");
    assert_eq!(body["email"], "ada@people.example");
    assert_eq!(
        body["avatar_url"],
        "https://pictures.example/github/ada?v=4"
    );
}

#[tokio::test]
async fn a_missing_name_is_null() {
    let body = body_of(seed_account(GITHUB, "grace"), "/user").await;
    assert!(body.as_object().unwrap().contains_key("name"));
    assert_eq!(body["name"], Value::Null);
}

#[tokio::test]
async fn a_user_without_a_username_has_a_login() {
    let user = User {
        id: "7".to_owned(),
        ..User::default()
    };
    assert_eq!(body_of(user, "/user").await["login"], "user7");
}

// dexidp/dex: the address in /user is the public one.
#[tokio::test]
async fn a_private_address_is_in_the_list_alone() {
    let user = seed_account(GITHUB, "hedy");
    assert_eq!(body_of(user.clone(), "/user").await["email"], Value::Null);
    let emails = body_of(user, "/user/emails").await;
    let primary = emails
        .as_array()
        .unwrap()
        .iter()
        .find(|email| email["primary"] == true);
    let expected = json!({
        "email": "hedy@people.example",
        "primary": true,
        "verified": true,
        "visibility": "private",
    });
    assert_eq!(primary, Some(&expected));
    assert_eq!(emails.as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn email_private_hides_the_address_of_any_user() {
    let json = json!({
        "id": "7",
        "email": "e@mail.example",
        "email_verified": true,
        "email_private": true,
    });
    let user: User = serde_json::from_value(json).unwrap();
    assert_eq!(body_of(user.clone(), "/user").await["email"], Value::Null);
    let emails = body_of(user, "/user/emails").await;
    let expected = json!({
        "email": "e@mail.example",
        "primary": true,
        "verified": true,
        "visibility": "private",
    });
    assert!(emails.as_array().unwrap().contains(&expected), "{emails}");
}

#[tokio::test]
async fn an_unverified_address_is_listed_as_unverified_and_not_public() {
    let user = seed_account(GITHUB, "alan");
    assert_eq!(body_of(user.clone(), "/user").await["email"], Value::Null);
    let emails = body_of(user, "/user/emails").await;
    assert_eq!(emails[0]["verified"], false);
}

#[tokio::test]
async fn a_user_without_an_address_has_an_empty_list() {
    let user = User {
        id: "7".to_owned(),
        ..User::default()
    };
    assert_eq!(body_of(user, "/user/emails").await, json!([]));
}

// REST API reference: the private part needs read:user or user.
#[tokio::test]
async fn the_private_part_needs_a_scope() {
    let mock = TestMock::new().await;
    for (scope, shown) in [
        ("", false),
        ("user:email", false),
        ("read:user", true),
        ("user", true),
    ] {
        let token = token_with_scope(&mock, scope).await;
        let body = Response::of(call(&mock, "/user").bearer_auth(token))
            .await
            .json();
        assert_eq!(body.get("plan").is_some(), shown, "{scope}");
    }
}

// That it is a 404 is not confirmed.
#[tokio::test]
async fn the_addresses_need_a_scope() {
    let mock = TestMock::new().await;
    for (scope, status) in [
        ("", 404),
        ("read:user", 404),
        ("user:email", 200),
        ("user", 200),
    ] {
        let token = token_with_scope(&mock, scope).await;
        let response = Response::of(call(&mock, "/user/emails").bearer_auth(token)).await;
        assert_eq!(response.status, status, "{scope}");
    }
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

// Response in several projects.
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

// REST API, "Authenticating": `Bearer` or `token`. A scheme has no case (RFC 9110).
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

// REST API reference: per_page, 30 by default, 100 at most.
#[tokio::test]
async fn a_long_list_has_pages() {
    let mock = TestMock::new().await;
    mock.queue(GITHUB, Next::User(seed_account(GITHUB, "hedy")));
    let token = mock.sign_in(GITHUB).await.text("access_token");
    let url = mock.upstreams.github().url();
    let first = call(&mock, "/user/emails?per_page=1").bearer_auth(&token);
    let first = Response::of(first).await;
    let next = format!(r#"<{url}/user/emails?per_page=1&page=2>; rel="next""#);
    assert_eq!(first.json().as_array().unwrap().len(), 1);
    assert!(first.header("link").starts_with(&next));
    let second = call(&mock, "/user/emails?per_page=1&page=2").bearer_auth(&token);
    let second = Response::of(second).await;
    assert_eq!(second.json()[0]["primary"], true);
    assert_eq!(second.header("link"), "");
}

// REST API, "Troubleshooting": a trailing slash is a 404.
#[tokio::test]
async fn a_trailing_slash_is_404() {
    let mock = TestMock::new().await;
    let token = mock.sign_in(GITHUB).await.text("access_token");
    let response = Response::of(call(&mock, "/user/").bearer_auth(token)).await;
    assert_eq!(response.status, 404);
}

// Docs sample and types derived from it.
#[tokio::test]
async fn the_public_part_has_githubs_members() {
    let mock = TestMock::new().await;
    let token = token_with_scope(&mock, "").await;
    let request = call(&mock, "/user").bearer_auth(token);
    let body = Response::of(request).await.json();
    let mut members: Vec<_> = body
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    members.sort_unstable();
    let known = "avatar_url bio blog company created_at email followers following gravatar_id \
                 hireable html_url id location login name node_id public_gists public_repos \
                 site_admin twitter_username type updated_at url";
    assert_eq!(members.join(" "), known);
}

#[tokio::test]
async fn the_private_part_has_githubs_members() {
    let mock = TestMock::new().await;
    let token = token_with_scope(&mock, "read:user").await;
    let request = call(&mock, "/user").bearer_auth(token);
    let body = Response::of(request).await.json();
    for member in [
        "private_gists",
        "total_private_repos",
        "owned_private_repos",
        "disk_usage",
        "collaborators",
        "two_factor_authentication",
        "plan",
    ] {
        assert!(body.get(member).is_some(), "{member}");
    }
}

// Not confirmed: 404 or 403.
#[tokio::test]
async fn the_status_for_a_missing_scope_can_be_chosen() {
    let mock = TestMock::with(|settings| settings.github.unconfirmed.github_hidden_status = 403);
    let mock = mock.await;
    let token = token_with_scope(&mock, "read:user").await;
    let response = Response::of(call(&mock, "/user/emails").bearer_auth(token)).await;
    assert_eq!(response.status, 403);
}

// Changelog of 2026-03-12: absent means 2022-11-28. The header with the selected
// version is general knowledge.
#[tokio::test]
async fn the_default_version_is_the_old_one() {
    let mock = TestMock::new().await;
    let token = mock.sign_in(GITHUB).await.text("access_token");
    let selected = "x-github-api-version-selected";
    let response = Response::of(call(&mock, "/user").bearer_auth(&token)).await;
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
        let response = Response::of(call(&mock, path).bearer_auth(&token)).await;
        let left = if used == "1" { "4999" } else { "4998" };
        let reset = (mock.now_ms() / 1000 + 3600).to_string();
        assert_eq!(response.header("x-ratelimit-limit"), "5000");
        assert_eq!(response.header("x-ratelimit-used"), used);
        assert_eq!(response.header("x-ratelimit-remaining"), left);
        assert_eq!(response.header("x-ratelimit-reset"), reset);
        assert_eq!(response.header("x-ratelimit-resource"), "core");
    }
    mock.advance_ms(3_600_000);
    let response = Response::of(call(&mock, "/user").bearer_auth(&token)).await;
    assert_eq!(response.header("x-ratelimit-used"), "1");
}

// The same page: 403 with nothing left, until the reset.
#[tokio::test]
async fn calls_beyond_the_hourly_limit_are_refused_until_the_reset() {
    let mock = TestMock::with(|settings| settings.github.hourly_calls = Some(2)).await;
    let token = mock.sign_in(GITHUB).await.text("access_token");
    let ask = async || Response::of(call(&mock, "/user").bearer_auth(&token)).await;
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
    mock.advance_ms(3_600_000);
    assert_eq!(ask().await.status, 200);
}

// The second header is in a changelog, the first not confirmed.
#[tokio::test]
async fn the_headers_list_the_scopes_unless_switched_off() {
    let mock = TestMock::new().await;
    let token = mock.sign_in(GITHUB).await.text("access_token");
    let response = Response::of(call(&mock, "/user/emails").bearer_auth(token)).await;
    assert_eq!(response.header("x-oauth-scopes"), "read:user, user:email");
    assert_eq!(
        response.header("x-accepted-oauth-scopes"),
        "user, user:email"
    );

    let mock = TestMock::with(|settings| settings.github.unconfirmed.github_scope_headers = false);
    let mock = mock.await;
    let token = mock.sign_in(GITHUB).await.text("access_token");
    let response = Response::of(call(&mock, "/user/emails").bearer_auth(token)).await;
    assert_eq!(response.header("x-oauth-scopes"), "");
    assert_eq!(response.header("x-accepted-oauth-scopes"), "");
}

// REST API, "List email addresses": 30 on a page by default, 100 at most.
#[tokio::test]
async fn the_primary_one_of_forty_addresses_is_on_the_second_page() {
    let mock = TestMock::new().await;
    mock.queue(GITHUB, Next::User(seed_account(GITHUB, "sofia")));
    let token = mock.sign_in(GITHUB).await.text("access_token");
    let ask = async |query: &str| {
        let path = format!("/user/emails{query}");
        Response::of(call(&mock, &path).bearer_auth(&token)).await
    };
    let primaries = |response: &Response| {
        let all = response.json();
        let all = all.as_array().unwrap();
        let primary = all.iter().filter(|email| email["primary"] == true);
        (all.len(), primary.count())
    };
    let first = ask("").await;
    let url = mock.upstreams.github().url();
    let next = format!(r#"<{url}/user/emails?per_page=30&page=2>; rel="next""#);
    let last = format!(r#"<{url}/user/emails?per_page=30&page=2>; rel="last""#);
    assert_eq!(primaries(&first), (30, 0));
    assert_eq!(first.header("link"), format!("{next}, {last}"));
    assert_eq!(primaries(&ask("?page=2").await), (10, 1));
    assert_eq!(primaries(&ask("?per_page=100").await), (40, 1));
    assert_eq!(primaries(&ask("?page=3").await), (0, 0));
}

#[tokio::test]
async fn other_addresses_are_verified_and_have_no_visibility() {
    let emails = body_of(seed_account(GITHUB, "sofia"), "/user/emails").await;
    let other = json!({
        "email": "sofia+1@people.example",
        "primary": false,
        "verified": true,
        "visibility": null,
    });
    assert_eq!(emails[0], other);
}
