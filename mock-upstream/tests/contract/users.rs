//! The users: the seed users, and their JSON.

use std::collections::HashSet;

use mock_upstream::users::{KnownUser, Visibility, ada, seed_users};
use mock_upstream::{Next, Provider, User};
use serde_json::{Value, json};

use crate::test_mock::TestMock;

fn account(known: &KnownUser, provider: Provider) -> &User {
    known.at(provider).unwrap()
}

#[test]
fn every_seed_user_has_a_key_and_ids_of_its_own() {
    let users = seed_users();
    let keys: HashSet<_> = users.iter().map(|known| &known.key).collect();
    assert_eq!(keys.len(), users.len());
    for provider in Provider::ALL {
        let ids: HashSet<_> = users
            .iter()
            .map(|known| &account(known, provider).id)
            .collect();
        assert_eq!(ids.len(), users.len());
    }
}

#[test]
fn two_seed_users_share_an_address() {
    let users = seed_users();
    let addresses: Vec<_> = users
        .iter()
        .filter_map(|known| account(known, Provider::GitHub).email.as_ref())
        .collect();
    let different: HashSet<_> = addresses.iter().collect();
    assert_eq!(different.len() + 1, addresses.len());
}

#[test]
fn the_default_user_is_the_first() {
    assert_eq!(seed_users()[0].key, ada().key);
}

// Google OIDC guide: the samples are 21 digits.
#[test]
fn a_google_id_has_21_digits() {
    for known in seed_users() {
        let id = &account(&known, Provider::Google).id;
        assert!(
            id.len() == 21 && id.bytes().all(|byte| byte.is_ascii_digit()),
            "{id}"
        );
    }
}

fn read(json: Value) -> Result<User, String> {
    serde_json::from_value(json).map_err(|error| error.to_string())
}

#[test]
fn a_user_needs_an_id_alone() {
    let expected = User {
        id: "7".to_owned(),
        ..User::default()
    };
    let nulls = json!({
        "id": "7", "name": null, "username": null, "email": null,
        "email_verified": null, "email_private": null, "picture": null,
    });
    assert_eq!(read(json!({ "id": "7" })), Ok(expected.clone()));
    assert_eq!(read(nulls), Ok(expected));
}

#[test]
fn every_member_of_a_user_is_read() {
    let user = read(json!({
        "id": "7", "name": "N", "username": "U", "email": "e@mail.example",
        "email_verified": true, "email_private": true,
        "picture": "https://pictures.example/7",
    }))
    .unwrap();
    assert_eq!(user.id, "7");
    assert_eq!(user.name.as_deref(), Some("N"));
    assert_eq!(user.username.as_deref(), Some("U"));
    assert_eq!(user.email.as_deref(), Some("e@mail.example"));
    assert!(user.email_verified);
    assert_eq!(user.visibility, Visibility::Private);
    assert_eq!(user.picture.as_deref(), Some("https://pictures.example/7"));
}

#[track_caller]
fn check_refused(json: Value, message: &str) {
    let refused = read(json).unwrap_err();
    assert_eq!(refused, message);
    assert!(!refused.contains("SECRET"));
}

#[test]
fn an_error_names_the_field_and_never_repeats_the_input() {
    check_refused(json!("SECRET"), "a person is a JSON object");
    check_refused(json!({}), "a person needs an id");
    check_refused(json!({ "id": null }), "a person needs an id");
    check_refused(json!({ "id": 7 }), "id must be a string");
    check_refused(
        json!({ "id": "7", "name": ["SECRET"] }),
        "name must be a string",
    );
    check_refused(
        json!({ "id": "7", "username": 1 }),
        "username must be a string",
    );
    check_refused(json!({ "id": "7", "email": 1 }), "email must be a string");
    check_refused(
        json!({ "id": "7", "picture": 1 }),
        "picture must be a string",
    );
    let message = "email_verified must be true or false";
    check_refused(json!({ "id": "7", "email_verified": "SECRET" }), message);
    let message = "email_private must be true or false";
    check_refused(json!({ "id": "7", "email_private": "SECRET" }), message);
    let message = "a person has id, name, username, email, email_verified, email_private, picture, \
                and nothing else";
    check_refused(json!({ "id": "7", "SECRET": 1 }), message);
}

async fn check_id(provider: Provider, id: &str, message: Option<&str>) {
    let mock = TestMock::new().await;
    let user = User {
        id: id.to_owned(),
        ..User::default()
    };
    let queued = mock.upstream(provider).queue(Next::User(user));
    let refused = queued.err().map(|error| error.to_string());
    assert_eq!(refused.as_deref(), message, "{provider} {id:?}");
}

#[tokio::test]
async fn a_github_id_is_a_number_without_leading_zeros() {
    let message =
        Some("id must be a string of digits without leading zeros, as GitHub's id is a number");
    check_id(Provider::GitHub, "9007199254740993", None).await;
    for id in [
        "",
        "ada",
        "+7",
        "007",
        "-7",
        "7.0",
        " 7",
        "٧",
        "99999999999999999999",
    ] {
        check_id(Provider::GitHub, id, message).await;
    }
}

// Google OIDC guide: at most 255 case-sensitive ASCII characters.
#[tokio::test]
async fn a_google_id_has_up_to_255_ascii_characters() {
    let message = Some("id must be 1 to 255 ASCII characters, as Google's sub is");
    check_id(Provider::Google, "ada", None).await;
    check_id(Provider::Google, &"1".repeat(255), None).await;
    for id in ["", "ädä", &"1".repeat(256)] {
        check_id(Provider::Google, id, message).await;
    }
}
