//! The e-mail addresses at GitHub's REST API.

use mock_upstream::{Next, User};
use serde_json::{Value, json};

use super::{GITHUB, body_of, token_with_scope};
use crate::test_mock::{Response, TestMock, seed_account};

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

// The status is not confirmed.
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
        let response = mock.get_with_token(GITHUB, "/user/emails", &token).await;
        assert_eq!(response.status, status, "{scope}");
    }
}

// Not confirmed: 404 or 403.
#[tokio::test]
async fn the_status_for_a_missing_scope_can_be_chosen() {
    let mock = TestMock::with(|settings| settings.github.unconfirmed.github_hidden_status = 403);
    let mock = mock.await;
    let token = token_with_scope(&mock, "read:user").await;
    let response = mock.get_with_token(GITHUB, "/user/emails", &token).await;
    assert_eq!(response.status, 403);
}

// REST API reference: per_page, 30 by default, 100 at most.
#[tokio::test]
async fn a_long_list_has_pages() {
    let mock = TestMock::new().await;
    mock.queue(GITHUB, Next::User(seed_account(GITHUB, "hedy")));
    let token = mock.sign_in(GITHUB).await.text("access_token");
    let url = mock.upstreams.github().url();
    let first = mock
        .get_with_token(GITHUB, "/user/emails?per_page=1", &token)
        .await;
    let next = format!(r#"<{url}/user/emails?per_page=1&page=2>; rel="next""#);
    assert_eq!(first.json().as_array().unwrap().len(), 1);
    assert!(first.header("link").starts_with(&next));
    let second = mock
        .get_with_token(GITHUB, "/user/emails?per_page=1&page=2", &token)
        .await;
    assert_eq!(second.json()[0]["primary"], true);
    assert_eq!(second.header("link"), "");
}

// REST API, "List email addresses": 30 on a page by default, 100 at most.
#[tokio::test]
async fn the_primary_one_of_forty_addresses_is_on_the_second_page() {
    let mock = TestMock::new().await;
    mock.queue(GITHUB, Next::User(seed_account(GITHUB, "sofia")));
    let token = mock.sign_in(GITHUB).await.text("access_token");
    let ask = async |query: &str| {
        let path = format!("/user/emails{query}");
        mock.get_with_token(GITHUB, &path, &token).await
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
