//! The users: the seed users, the JSON of any user, and the people file with its users on the
//! sign-in pages and the files that are refused.

use std::collections::HashSet;
use std::path::Path;

use mock_upstream::users::{KnownUsers, ada, seed_users};
use mock_upstream::{Next, Provider, User};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::page::Pending;
use crate::test_mock::{GITHUB, GOOGLE, TestMock, rows, user};

// Google OIDC guide: the samples of an id are 21 digits.
#[test]
fn the_seed_users_have_keys_and_ids_of_their_own_and_two_share_an_address() {
    let users = seed_users();
    let keys: HashSet<_> = users.iter().map(|known| &known.key).collect();
    assert_eq!((&users[0].key, keys.len()), (&ada().key, users.len()));
    for provider in Provider::ALL {
        let accounts = users.iter().map(|known| known.at(provider).unwrap());
        let ids: HashSet<_> = accounts.clone().map(|it| &it.id).collect();
        assert_eq!(ids.len(), users.len());
        let addresses = accounts.filter_map(|it| it.email.as_ref());
        let different: HashSet<_> = addresses.clone().collect();
        assert_eq!(different.len() + 1, addresses.count());
        let has_digits = |id: &String| id.len() == 21 && id.bytes().all(|it| it.is_ascii_digit());
        assert!(provider == GITHUB || ids.into_iter().all(has_digits));
    }
}

fn parse(json: Value) -> Result<User, String> {
    serde_json::from_value(json).map_err(|error| error.to_string())
}

#[test]
fn a_user_needs_an_id_alone() {
    let expected = user("7");
    let nulls = json!({
        "id": "7", "name": null, "username": null, "email": null,
        "email_verified": null, "email_private": null, "picture": null,
    });
    assert_eq!(parse(json!({ "id": "7" })), Ok(expected.clone()));
    assert_eq!(parse(nulls), Ok(expected));
}

/// Users, and the error of each.
const REFUSED: &str = include_str!("tables/refused_users.txt");

#[test]
fn an_error_names_the_field_and_never_repeats_the_input() {
    for [user, message] in rows(REFUSED) {
        let user = serde_json::from_str(user).unwrap();
        assert_eq!(parse(user), Err(message.to_owned()), "{message}");
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

const MARIE: &str = r#"
[[people]]
key = "marie"
name = "Marie Curie"
email = "marie@example.com"
email_verified = true
reason = "An ordinary customer of ours."
google = { id = "100000000000000000042", picture = "https://pictures.example/marie" }
github = { id = "4711", username = "marie", email = "m@example.org", email_private = true }

[[people]]
key = "only-at_github7"
github = { id = "4712" }
"#;

/// A folder with the file `people.toml` of this content.
fn folder(content: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("people.toml"), content).unwrap();
    folder
}

fn read(content: &str) -> Result<KnownUsers, String> {
    let folder = folder(content);
    read_at(&folder.path().join("people.toml"))
}

fn read_at(path: &Path) -> Result<KnownUsers, String> {
    let read = KnownUsers::with_people(path);
    read.map_err(|error| error.to_string())
}

async fn mock_of_marie() -> TestMock {
    let users = read(MARIE).unwrap();
    TestMock::interactive_with(|settings| settings.users = users).await
}

fn known(mock: &TestMock, provider: Provider, key: &str) -> Option<User> {
    mock.upstream(provider).known_user(key).ok()
}

#[tokio::test]
async fn a_person_has_a_button_after_those_of_the_seed_users_and_signs_in() {
    let mock = mock_of_marie().await;
    for provider in Provider::ALL {
        let page = mock.authorize(provider, "").await.body;
        let (before, after) = page.split_once(r#"data-person="marie""#).unwrap();
        assert!(before.contains(r#"data-person="sofia""#));
        assert!(after.contains("Marie Curie"));
        assert!(after.contains("An ordinary customer of ours."));
    }
    let pending = Pending::at(&mock, GITHUB).await;
    let chosen = pending.choose(&[("person", "marie")]).await;
    let account = mock.account(GITHUB, &chosen.callback()).await;
    assert_eq!(account.text("login"), "marie");
    assert_eq!(account.json()["id"], 4711);
}

#[tokio::test]
async fn an_account_overrides_the_members_of_its_person() {
    let mock = mock_of_marie().await;
    let google = json!({
        "id": "100000000000000000042", "name": "Marie Curie", "email": "marie@example.com",
        "email_verified": true, "picture": "https://pictures.example/marie",
    });
    let github = json!({
        "id": "4711", "name": "Marie Curie", "username": "marie", "email": "m@example.org",
        "email_verified": true, "email_private": true,
    });
    for (provider, account) in [(GOOGLE, google), (GITHUB, github)] {
        assert_eq!(known(&mock, provider, "marie"), parse(account).ok());
    }
}

#[tokio::test]
async fn a_user_is_known_by_the_key_where_it_has_an_account() {
    let mock = mock_of_marie().await;
    let key = "only-at_github7";
    for (provider, is_known) in [(GITHUB, true), (GOOGLE, false)] {
        let page = mock.authorize(provider, "").await;
        assert_eq!(page.body.contains(key), is_known);
        assert_eq!(known(&mock, provider, key).is_some(), is_known);
    }
    let account = known(&mock, GITHUB, key).unwrap();
    assert_eq!((account.id.as_str(), account.name), ("4712", None));
    let pending = Pending::at(&mock, GOOGLE).await;
    assert_eq!(pending.choose(&[("person", key)]).await.status, 400);
    for key in ["marie", "alan"] {
        let user = known(&mock, GOOGLE, key).unwrap();
        assert!(mock.sign_in_as(GOOGLE, user).await.is_granted(), "{key}");
    }
    let unknown = mock.upstreams.google().known_user("Marie").unwrap_err();
    let message = "Google has no user with this key; the buttons of its sign-in page show the keys";
    assert_eq!(unknown.to_string(), message);
}

/// Asserts that a file of this content is refused in one line: its path, then `message`.
#[track_caller]
fn check(content: &str, message: &str) {
    let refused = read(content).unwrap_err();
    let (path, refused) = refused.split_once(": ").unwrap();
    assert!(path.ends_with("people.toml"), "{path}");
    assert_eq!(refused, message, "{content:.200}");
}

#[test]
fn a_person_that_breaks_a_rule_is_named_with_the_rule() {
    for [content, message] in rows(include_str!("people_file.txt")) {
        check(&content.replace("; ", "\n"), message);
    }
}

#[test]
fn a_file_that_is_no_people_file_is_refused_in_one_line() {
    check("", "has no person; add a [[people]] table for each");
    for (broken, line) in [
        ("[[people]]\nkey = \"marie", 2),
        ("[[people]]\nkey = marie", 2),
        ("[[people]]\n\u{1b}[2J", 2),
        ("people = 5", 1),
        ("people = [5]", 1),
        ("[[people]]\nkey = \"a\"\nkey = \"b\"", 3),
        ("\n[[person]]", 2),
        // Deeply nested.
        (&format!("people = {}", "[".repeat(100_000)), 1),
        (&format!("x = {}", "{a=".repeat(60_000)), 1),
        (&format!("{}a = 1", "a.".repeat(100_000)), 1),
        (&format!("[{}a]", "a.".repeat(100_000)), 1),
    ] {
        let refused = read(broken).unwrap_err();
        let start = format!("people.toml: line {line}: ");
        assert!(refused.contains(&start), "{refused:.200} to {broken:.200}");
        assert!(!refused.contains(char::is_control), "{refused:?}");
    }
}

#[test]
fn a_file_that_cannot_be_read_is_named_with_the_way_out() {
    let folder = folder("");
    let hint = "name a TOML file with [[people]] tables";
    let missing = read_at(&folder.path().join("nothing.toml")).unwrap_err();
    assert!(missing.contains("nothing.toml: No such file"), "{missing}");
    assert!(missing.ends_with(hint), "{missing}");
    for special in [folder.path(), Path::new("/dev/zero")] {
        let refused = read_at(special).unwrap_err();
        let expected = format!("{}: is no regular file; {hint}", special.display());
        assert_eq!(refused, expected);
    }
    let binary = folder.path().join("binary.toml");
    std::fs::write(&binary, [0xff, 0xfe]).unwrap();
    assert!(read_at(&binary).unwrap_err().ends_with(hint));
}

#[test]
fn a_file_has_at_most_256_kib() {
    let padded = |bytes: usize| format!("{MARIE}{}", "#".repeat(bytes - MARIE.len()));
    assert!(read(&padded(256 * 1024)).is_ok());
    let message = "has more than 256 KiB; leave people out";
    check(&padded(256 * 1024 + 1), message);
}
