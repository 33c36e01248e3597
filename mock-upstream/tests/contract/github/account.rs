//! The account and its e-mail addresses at GitHub's REST API.

use mock_upstream::User;
use serde_json::{Value, json};

use crate::test_mock::{GITHUB, TestMock, authorization, rows, seed_account, user};

/// The JSON that `user` gets from the REST API.
async fn body_of(user: User, path: &str) -> Value {
    let mock = TestMock::new().await;
    let token = mock.sign_in_as(GITHUB, user).await.text("access_token");
    mock.get_with(&token, GITHUB, path).await.json()
}

async fn token_with_scope(mock: &TestMock, scope: &str) -> String {
    let params = authorization(GITHUB).with("scope", scope);
    mock.sign_in_with(GITHUB, &params)
        .await
        .text("access_token")
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
    ] {
        let token = token_with_scope(&mock, scope).await;
        let account = mock.get_with(&token, GITHUB, "/user").await;
        let mut members: Vec<_> = PUBLIC.split(' ').collect();
        if has_private_part {
            members.extend(PRIVATE.split(' '));
        }
        members.sort_unstable();
        assert_eq!(account.members(), members.join(" "), "{scope}");
        let emails = mock.get_with(&token, GITHUB, "/user/emails").await;
        assert_eq!(emails.status, status, "{scope}");
    }
}

// Not confirmed: 404 or 403.
#[tokio::test]
async fn the_status_for_a_missing_scope_can_be_chosen() {
    let mock = TestMock::with(|settings| settings.github.unconfirmed.github_hidden_status = 403);
    let mock = mock.await;
    let token = token_with_scope(&mock, "read:user").await;
    let response = mock.get_with(&token, GITHUB, "/user/emails").await;
    assert_eq!(response.status, 403);
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
async fn the_primary_one_of_forty_addresses_is_on_the_second_page() {
    let mock = TestMock::new().await;
    let answer = mock.sign_in_as(GITHUB, seed_account(GITHUB, "sofia")).await;
    let token = answer.text("access_token");
    for (query, number, primaries, next) in [
        ("", 30, 0, Some("30&page=2")),
        ("?page=2", 10, 1, None),
        ("?page=3", 0, 0, None),
        ("?per_page=100", 40, 1, None),
        ("?per_page=20", 20, 0, Some("20&page=2")),
        ("?per_page=20&page=2", 20, 1, None),
    ] {
        let path = format!("/user/emails{query}");
        let response = mock.get_with(&token, GITHUB, &path).await;
        let emails = response.json();
        let emails = emails.as_array().unwrap();
        let primary = emails.iter().filter(|email| email["primary"] == true);
        let seen = (emails.len(), primary.count());
        assert_eq!(seen, (number, primaries), "{query}");
        let links = next.map(|next| {
            let url = mock.url(GITHUB, &format!("/user/emails?per_page={next}"));
            format!(r#"<{url}>; rel="next", <{url}>; rel="last""#)
        });
        let links = links.unwrap_or_default();
        assert_eq!(response.header("link"), links, "{query}");
    }
}
