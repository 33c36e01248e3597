//! The users: the seed users, and their JSON.

use std::collections::HashSet;

use mock_upstream::users::{ada, seed_users};
use mock_upstream::{Next, Provider, User};
use serde_json::{Value, json};

use crate::test_mock::{GITHUB, GOOGLE, TestMock, rows, user};

// Google OIDC guide: the samples of an id are 21 digits.
#[tokio::test]
async fn the_seed_users_have_keys_and_ids_of_their_own_and_two_share_an_address() {
    let mock = TestMock::new().await;
    let users = seed_users();
    assert_eq!(users[0].key, ada().key);
    let keys: HashSet<_> = users.iter().map(|known| &known.key).collect();
    assert_eq!(keys.len(), users.len());
    for provider in Provider::ALL {
        let accounts = users.iter().map(|known| known.at(provider).unwrap());
        // The queue takes a user that the provider can have.
        accounts
            .clone()
            .for_each(|user| mock.queue(provider, Next::User(user.clone())));
        let ids: HashSet<_> = accounts.clone().map(|it| &it.id).collect();
        assert_eq!(ids.len(), users.len());
        let addresses = accounts.filter_map(|it| it.email.as_ref());
        let different: HashSet<_> = addresses.clone().collect();
        assert_eq!(different.len() + 1, addresses.count());
        let has_digits = |id: &String| id.len() == 21 && id.bytes().all(|it| it.is_ascii_digit());
        assert!(provider == GITHUB || ids.into_iter().all(has_digits));
    }
}

fn read(json: Value) -> Result<User, String> {
    serde_json::from_value(json).map_err(|error| error.to_string())
}

#[test]
fn a_user_needs_an_id_alone() {
    let expected = user("7");
    let nulls = json!({
        "id": "7", "name": null, "username": null, "email": null,
        "email_verified": null, "email_private": null, "picture": null,
    });
    assert_eq!(read(json!({ "id": "7" })), Ok(expected.clone()));
    assert_eq!(read(nulls), Ok(expected));
}

/// Users, and the error of each.
const REFUSED: &str = r#"
    "SECRET" | a person is a JSON object
    {} | a person needs an id
    {"id": null} | a person needs an id
    {"id": 7} | id must be a string
    {"id": "7", "name": ["SECRET"]} | name must be a string
    {"id": "7", "username": 1} | username must be a string
    {"id": "7", "email": 1} | email must be a string
    {"id": "7", "picture": 1} | picture must be a string
    {"id": "7", "email_verified": "SECRET"} | email_verified must be true or false
    {"id": "7", "email_private": "SECRET"} | email_private must be true or false
    {"id": "7", "SECRET": 1} | a person has id, name, username, email, email_verified, email_private, picture, and nothing else
"#;

#[test]
fn an_error_names_the_field_and_never_repeats_the_input() {
    for [user, message] in rows(REFUSED) {
        let user = serde_json::from_str(user).unwrap();
        assert_eq!(read(user), Err(message.to_owned()), "{message}");
    }
}

// Google OIDC guide: at most 255 case-sensitive ASCII characters.
#[tokio::test]
async fn an_id_is_one_that_the_provider_can_have() {
    let mock = TestMock::new().await;
    let google = "id must be 1 to 255 ASCII characters, as Google's sub is";
    let github = "id must be a string of digits without leading zeros, as GitHub's id is a number";
    let (longest, too_long) = ("1".repeat(255), "1".repeat(256));
    let digits = "99999999999999999999";
    let of_google = [&["ada", &longest][..], &["", "ädä", &too_long]];
    let bad = ["", "ada", "+7", "007", "-7", "7.0", " 7", "٧", digits];
    let of_github = [&["9007199254740993"][..], &bad];
    for (provider, [good, bad], message) in
        [(GOOGLE, of_google, google), (GITHUB, of_github, github)]
    {
        let refusal = |id: &str| {
            let queued = mock.upstream(provider).queue(Next::User(user(id)));
            queued.err().map(|error| error.to_string())
        };
        for id in good {
            assert_eq!(refusal(id), None, "{provider} {id:?}");
        }
        for id in bad {
            assert_eq!(refusal(id).as_deref(), Some(message), "{provider} {id:?}");
        }
    }
}
