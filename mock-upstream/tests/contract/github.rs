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

/// The users, a path, the JSON pointer of a part of its answer, and that part.
const PARTS: &str = include_str!("tables/github_accounts.txt");

#[tokio::test]
async fn the_account_and_its_addresses_have_null_for_what_is_missing_or_not_public() {
    for [key, path, pointer, expected] in rows(PARTS) {
        let body = body_of(seed_account(GITHUB, key), path).await;
        let part = body.pointer(pointer);
        let expected = (expected != "absent").then(|| serde_json::from_str(expected).unwrap());
        assert_eq!(part, expected.as_ref(), "{path}{pointer} of {key}");
    }
    assert_eq!(body_of(user("7"), "/user").await["login"], "user7");
    assert_eq!(body_of(user("7"), "/user/emails").await, json!([]));
}

/// The members of an account, from the documents' sample and types derived from it.
const PUBLIC: &str = "avatar_url bio blog company created_at email followers following \
                      gravatar_id hireable html_url id location login name node_id \
                      public_gists public_repos site_admin twitter_username type updated_at url";
const PRIVATE: &str = "collaborators disk_usage owned_private_repos plan private_gists \
                       total_private_repos two_factor_authentication";

/// The scopes of a token, whether it shows the private part, and the status of the addresses.
const SCOPES: &str = "
    // REST API reference: the private part needs read:user or user, and the addresses need
    // user:email or user. The status without a scope is not confirmed.
    | public | 404
    user:email | public | 200
    read:user | private | 404
    user | private | 200
    read:user, user:email | private | 200
";

#[tokio::test]
async fn the_private_part_and_the_addresses_need_a_scope() {
    let mock = TestMock::new().await;
    for [scope, part, status] in rows(SCOPES) {
        let answer = mock.sign_in_with(GITHUB, &format!("scope={scope}")).await;
        let token = answer.text("access_token");
        let account = mock.get_with(&token, GITHUB, "/user").await;
        let mut members: Vec<_> = PUBLIC.split(' ').collect();
        if part == "private" {
            members.extend(PRIVATE.split(' '));
        }
        members.sort_unstable();
        assert_eq!(account.members(), members.join(" "), "{scope}");
        let emails = mock.get_with(&token, GITHUB, "/user/emails").await;
        assert_eq!(emails.status.to_string(), status, "{scope}");
        // The second header is in a changelog, the first not confirmed.
        assert_eq!(emails.header("x-oauth-scopes"), scope);
        let accepted = "user, user:email";
        assert_eq!(emails.header("x-accepted-oauth-scopes"), accepted);
    }
}

/// The query, the addresses on that page, the primary ones among them, and its links to the
/// next page and to the last.
const PAGES: &str = include_str!("tables/address_pages.txt");

#[tokio::test]
async fn the_addresses_come_in_pages_of_at_most_100_with_the_primary_one_last() {
    let mock = TestMock::new().await;
    let mut user = seed_account(GITHUB, "sofia");
    user.other_emails = (1..120).map(|it| format!("{it}@people.example")).collect();
    let token = mock.sign_in_as(GITHUB, user).await.text("access_token");
    for [query, number, primaries, next, last] in rows(PAGES) {
        let path = format!("/user/emails{query}");
        let response = mock.get_with(&token, GITHUB, &path).await;
        let emails = response.json();
        let emails = emails.as_array().unwrap();
        let primary = emails.iter().filter(|email| email["primary"] == true);
        let seen = [emails.len(), primary.count()].map(|it| it.to_string());
        assert_eq!(seen, [number, primaries], "{query}");
        let url = |page| mock.url(GITHUB, &format!("/user/emails?per_page={page}"));
        let (next_url, last_url) = (url(next), url(last));
        let links = match next {
            "" => String::new(),
            _ => format!(r#"<{next_url}>; rel="next", <{last_url}>; rel="last""#),
        };
        assert_eq!(response.header("link"), links, "{query}");
    }
}

/// The headers of a call of `/user`, the status, and the version that answered.
const CALLS: &str = "
    user-agent: contract; authorization: Bearer TOKEN | 200 | 2022-11-28
    // REST API, `Getting started`: a User-Agent is required.
    authorization: Bearer TOKEN | 403 |
    // `Authenticating`: `Bearer` or `token`. A scheme is case-insensitive (RFC 9110).
    user-agent: contract; authorization: bearer TOKEN | 200 | 2022-11-28
    user-agent: contract; authorization: token TOKEN | 200 | 2022-11-28
    user-agent: contract; authorization: Token TOKEN | 200 | 2022-11-28
    user-agent: contract; authorization: Basic TOKEN | 401 |
    user-agent: contract; authorization: tokens TOKEN | 401 |
    user-agent: contract | 401 |
    // Changelog of 2026-03-12: absent means 2022-11-28. The header with the selected version is
    // general knowledge.
    user-agent: contract; authorization: Bearer TOKEN; x-github-api-version: 2022-11-28 | 200 | 2022-11-28
    user-agent: contract; authorization: Bearer TOKEN; x-github-api-version: 2026-03-10 | 200 | 2026-03-10
    user-agent: contract; authorization: Bearer TOKEN; x-github-api-version: 2020-01-01 | 400 |
";

#[tokio::test]
async fn a_call_has_a_user_agent_a_token_and_a_version_that_is_known() {
    let mock = TestMock::new().await;
    let token = mock.access_token(GITHUB).await;
    for [headers, status, version] in rows(CALLS) {
        let headers = headers.split("; ").filter_map(|it| it.split_once(": "));
        let request = mock.request(GITHUB, "GET", "/user");
        let request = headers.fold(request, |request, (name, value)| {
            request.header(name, value.replace("TOKEN", &token))
        });
        let response = Response::of(request).await;
        let selected = response.header("x-github-api-version-selected");
        let seen = (response.status.to_string(), selected);
        assert_eq!(seen, (status.to_owned(), version), "{}", response.body);
        assert_eq!(response.body.contains("User-Agent"), status == "403");
    }
    // "Troubleshooting": a trailing slash is a 404.
    assert_eq!(mock.get_with(&token, GITHUB, "/user/").await.status, 404);
    let in_the_query = format!("/user?access_token={token}");
    let request = mock.request(GITHUB, "GET", &in_the_query);
    let response = Response::of(request.header("user-agent", "contract")).await;
    assert_eq!(response.status, 401);
    // Seen in several projects.
    let response = mock.get_with("gho_none", GITHUB, &in_the_query).await;
    let body = json!({
        "message": "Bad credentials",
        "documentation_url": "https://docs.github.com/rest",
        "status": "401",
    });
    assert_eq!((response.status, response.json()), (401, body));
}

/// The milliseconds of a wait, a call after it, its status, and what the five headers say of
/// the hour: the limit, the used and the remaining calls.
const LIMITS: [&str; 2] = [
    // REST API, "Rate limits": five headers, counted per hour and user.
    "
    0 | /user | 200 | 5000 1 4999
    3599999 | /user/emails | 200 | 5000 2 4998
    1 | /user | 200 | 5000 1 4999
    ",
    // The same page: 403 with nothing left, until the reset.
    "
    0 | /user | 200 | 2 1 1
    0 | /user | 200 | 2 2 0
    0 | /user | 403 | 2 2 0
    3599999 | /user | 403 | 2 2 0
    1 | /user | 200 | 2 1 1
    ",
];

#[tokio::test]
async fn every_response_has_the_calls_of_the_hour_and_those_beyond_the_limit_are_refused() {
    for (hourly_calls, table) in [None, Some(2)].into_iter().zip(LIMITS) {
        let mock = TestMock::with(|settings| settings.github.hourly_calls = hourly_calls).await;
        let token = mock.access_token(GITHUB).await;
        for [wait_ms, path, status, calls] in rows(table) {
            mock.advance_ms(wait_ms.parse().unwrap());
            let response = mock.get_with(&token, GITHUB, path).await;
            assert_eq!(response.status.to_string(), status);
            let names = ["limit", "used", "remaining", "reset", "resource"];
            let headers = names.map(|name| response.header(&format!("x-ratelimit-{name}")));
            let reset = (mock.now_ms() / 3_600_000 + 1) * 3600;
            assert_eq!(headers.join(" "), format!("{calls} {reset} core"));
            let is_refused = response.body.contains("API rate limit exceeded");
            assert_eq!(is_refused, status == "403");
        }
    }
}
