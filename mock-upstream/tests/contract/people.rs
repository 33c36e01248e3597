//! Who can sign in.

use std::collections::HashSet;

use mock_upstream::people::{Visibility, ada, seeded};
use mock_upstream::{Next, Person, Provider};
use serde_json::{Value, json};

use crate::world::World;

#[test]
fn the_seeded_people_are_all_different() {
    let people = seeded();
    let keys: HashSet<_> = people.iter().map(|known| known.key).collect();
    assert_eq!(keys.len(), people.len());
    for provider in Provider::ALL {
        let ids: HashSet<_> = people.iter().map(|known| &known.at(provider).id).collect();
        assert_eq!(ids.len(), people.len());
    }
}

#[test]
fn two_of_them_share_an_address() {
    let people = seeded();
    let addresses: Vec<_> = people
        .iter()
        .filter_map(|known| known.at(Provider::GitHub).email.as_ref())
        .collect();
    let different: HashSet<_> = addresses.iter().collect();
    assert_eq!(different.len() + 1, addresses.len());
}

#[test]
fn the_default_person_is_the_first() {
    assert_eq!(seeded()[0].key, ada().key);
}

// Google OIDC guide: the samples are 21 digits.
#[test]
fn a_google_id_has_21_digits() {
    for known in seeded() {
        let id = &known.at(Provider::Google).id;
        assert!(
            id.len() == 21 && id.bytes().all(|byte| byte.is_ascii_digit()),
            "{id}"
        );
    }
}

fn read(json: Value) -> Result<Person, String> {
    serde_json::from_value(json).map_err(|error| error.to_string())
}

#[test]
fn a_person_needs_an_id_alone() {
    let expected = Person {
        id: "7".to_owned(),
        ..Person::default()
    };
    let nulls = json!({
        "id": "7", "name": null, "username": null, "email": null,
        "email_verified": null, "email_private": null, "picture": null,
    });
    assert_eq!(read(json!({ "id": "7" })), Ok(expected.clone()));
    assert_eq!(read(nulls), Ok(expected));
}

#[test]
fn a_person_is_read_whole() {
    let person = read(json!({
        "id": "7", "name": "N", "username": "U", "email": "e@mail.example",
        "email_verified": true, "email_private": true,
        "picture": "https://pictures.example/7",
    }))
    .unwrap();
    assert_eq!(person.id, "7");
    assert_eq!(person.name.as_deref(), Some("N"));
    assert_eq!(person.username.as_deref(), Some("U"));
    assert_eq!(person.email.as_deref(), Some("e@mail.example"));
    assert!(person.email_verified);
    assert_eq!(person.visibility, Visibility::Private);
    assert_eq!(
        person.picture.as_deref(),
        Some("https://pictures.example/7")
    );
}

#[track_caller]
fn check_refused(json: Value, says: &str) {
    let refused = read(json).unwrap_err();
    assert_eq!(refused, says);
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
    let says = "email_verified must be true or false";
    check_refused(json!({ "id": "7", "email_verified": "SECRET" }), says);
    let says = "email_private must be true or false";
    check_refused(json!({ "id": "7", "email_private": "SECRET" }), says);
    let says = "a person has id, name, username, email, email_verified, email_private, picture, \
                and nothing else";
    check_refused(json!({ "id": "7", "SECRET": 1 }), says);
}

async fn check_id(provider: Provider, id: &str, says: Option<&str>) {
    let world = World::new().await;
    let person = Person {
        id: id.to_owned(),
        ..Person::default()
    };
    let queued = world.upstream(provider).queue(Next::Person(person));
    let refused = queued.err().map(|error| error.to_string());
    assert_eq!(refused.as_deref(), says, "{provider} {id:?}");
}

#[tokio::test]
async fn github_ids_are_digits() {
    let says =
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
        check_id(Provider::GitHub, id, says).await;
    }
}

// Google OIDC guide: at most 255 case-sensitive ASCII characters.
#[tokio::test]
async fn google_ids_are_up_to_255_ascii_characters() {
    let says = Some("id must be 1 to 255 ASCII characters, as Google's sub is");
    check_id(Provider::Google, "ada", None).await;
    check_id(Provider::Google, &"1".repeat(255), None).await;
    for id in ["", "ädä", &"1".repeat(256)] {
        check_id(Provider::Google, id, says).await;
    }
}
