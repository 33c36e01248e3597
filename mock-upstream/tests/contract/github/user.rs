//! The account at GitHub's REST API.

use mock_upstream::User;
use serde_json::Value;

use super::{GITHUB, body_of, token_with_scope};
use crate::test_mock::{TestMock, seed_account};

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
        let body = mock.get_with_token(GITHUB, "/user", &token).await.json();
        assert_eq!(body.get("plan").is_some(), shown, "{scope}");
    }
}

// Docs sample and types derived from it.
#[tokio::test]
async fn the_public_part_has_githubs_members() {
    let mock = TestMock::new().await;
    let token = token_with_scope(&mock, "").await;
    let response = mock.get_with_token(GITHUB, "/user", &token).await;
    let body = response.json();
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
    let response = mock.get_with_token(GITHUB, "/user", &token).await;
    let body = response.json();
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
