//! GitHub's REST API: its requirements, the headers of its responses, and the account with
//! its e-mail addresses.

use mock_upstream::User;
use serde_json::{Value, json};

use crate::test_mock::{GITHUB, Response, TestMock, rows, seed_account, user};

/// The JSON that `user` gets from the REST API.
async fn body_of(user: User, path: &str) -> Value {
    let mock = TestMock::new().await;
    let token = mock.sign_in_as(GITHUB, user).await.text("access_token");
    mock.get_with(&token, GITHUB, path).await.json()
}

/// The users, and a member of their `/user`.
const MEMBERS: &str = r#"
    // REST API reference, `Get the authenticated user`.
    ada | id | 9000001
    ada | login | "ada-mock"
    ada | name | "Ada Lovelace"
    ada | email | "ada@people.example"
    ada | avatar_url | "https://pictures.example/github/ada?v=4"
    grace | name | null
    // dexidp/dex: the address in /user is the public one.
    hedy | email | null
    alan | email | null
"#;

#[tokio::test]
async fn the_account_has_a_numeric_id_and_null_for_what_is_missing_or_not_public() {
    for [key, member, expected] in rows(MEMBERS) {
        let body = body_of(seed_account(GITHUB, key), "/user").await;
        let value = body.get(member).unwrap();
        assert_eq!(value.to_string(), expected, "{member} of {key}");
    }
    assert_eq!(body_of(user("7"), "/user").await["login"], "user7");
}

/// The members of an account, from the documents' sample and types derived from it.
const PUBLIC: &str = "avatar_url bio blog company created_at email followers following \
                      gravatar_id hireable html_url id location login name node_id \
                      public_gists public_repos site_admin twitter_username type updated_at url";
const PRIVATE: &str = "collaborators disk_usage owned_private_repos plan private_gists \
                       total_private_repos two_factor_authentication";

// REST API reference: the private part needs read:user or user, and the addresses need
// user:email or user. The status without a scope is not confirmed.
#[tokio::test]
async fn the_private_part_and_the_addresses_need_a_scope() {
    let mock = TestMock::new().await;
    for (scope, has_private_part, status) in [
        ("", false, 404),
        ("user:email", false, 200),
        ("read:user", true, 404),
        ("user", true, 200),
        ("read:user, user:email", true, 200),
    ] {
        let answer = mock.sign_in_with(GITHUB, &format!("scope={scope}")).await;
        let token = answer.text("access_token");
        let account = mock.get_with(&token, GITHUB, "/user").await;
        let mut members: Vec<_> = PUBLIC.split(' ').collect();
        if has_private_part {
            members.extend(PRIVATE.split(' '));
        }
        members.sort_unstable();
        assert_eq!(account.members(), members.join(" "), "{scope}");
        let emails = mock.get_with(&token, GITHUB, "/user/emails").await;
        assert_eq!(emails.status, status, "{scope}");
        // The second header is in a changelog, the first not confirmed.
        assert_eq!(emails.header("x-oauth-scopes"), scope);
        let accepted = "user, user:email";
        assert_eq!(emails.header("x-accepted-oauth-scopes"), accepted);
    }
}

fn address(email: &str, is_primary: bool, visibility: Option<&str>) -> Value {
    json!({ "email": email, "primary": is_primary, "verified": true, "visibility": visibility })
}

#[tokio::test]
async fn the_addresses_are_those_of_the_account_with_their_visibility() {
    let hedy = body_of(seed_account(GITHUB, "hedy"), "/user/emails").await;
    assert_eq!(hedy.as_array().unwrap().len(), 2);
    let own = address("hedy@people.example", true, Some("private"));
    assert_eq!(hedy[1], own);
    let ada = body_of(seed_account(GITHUB, "ada"), "/user/emails").await;
    let own = address("ada@people.example", true, Some("public"));
    assert_eq!(ada, json!([own]));
    let sofia = body_of(seed_account(GITHUB, "sofia"), "/user/emails").await;
    assert_eq!(sofia[0], address("sofia+1@people.example", false, None));
    let alan = body_of(seed_account(GITHUB, "alan"), "/user/emails").await;
    assert_eq!(alan[0]["verified"], false);
    assert_eq!(body_of(user("7"), "/user/emails").await, json!([]));
}

// REST API, "List email addresses": 30 on a page by default, 100 at most.
#[tokio::test]
async fn the_addresses_come_in_pages_of_at_most_100_with_the_primary_one_last() {
    let mock = TestMock::new().await;
    let mut user = seed_account(GITHUB, "sofia");
    user.other_emails = (1..120).map(|it| format!("{it}@people.example")).collect();
    let answer = mock.sign_in_as(GITHUB, user).await;
    let token = answer.text("access_token");
    for (query, number, primaries, links) in [
        ("", 30, 0, Some(("30&page=2", "30&page=4"))),
        ("?page=4", 30, 1, None),
        ("?page=5", 0, 0, None),
        (
            "?per_page=50&page=2",
            50,
            0,
            Some(("50&page=3", "50&page=3")),
        ),
        ("?per_page=100&page=2", 20, 1, None),
        ("?per_page=101", 100, 0, Some(("100&page=2", "100&page=2"))),
        (
            "?page=0&per_page=0",
            30,
            0,
            Some(("30&page=2", "30&page=4")),
        ),
        (
            "?page=-1&per_page=many",
            30,
            0,
            Some(("30&page=2", "30&page=4")),
        ),
    ] {
        let path = format!("/user/emails{query}");
        let response = mock.get_with(&token, GITHUB, &path).await;
        let emails = response.json();
        let emails = emails.as_array().unwrap();
        let primary = emails.iter().filter(|email| email["primary"] == true);
        let seen = (emails.len(), primary.count());
        assert_eq!(seen, (number, primaries), "{query}");
        let url = |page| mock.url(GITHUB, &format!("/user/emails?per_page={page}"));
        let links = links.map(|(next, last)| {
            format!(
                r#"<{}>; rel="next", <{}>; rel="last""#,
                url(next),
                url(last)
            )
        });
        assert_eq!(
            response.header("link"),
            links.unwrap_or_default(),
            "{query}"
        );
    }
}

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
    let token = mock.access_token(GITHUB).await;
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
    let token = mock.access_token(GITHUB).await;
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
    let token = mock.access_token(GITHUB).await;
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
    let token = mock.access_token(GITHUB).await;
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
    let token = mock.access_token(GITHUB).await;
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
