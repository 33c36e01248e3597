//! The people file: its users on the sign-in pages, and the files that are refused.

use std::path::Path;

use mock_upstream::users::{KnownUsers, Visibility};
use mock_upstream::{Next, Provider, User};
use tempfile::TempDir;

use super::page::{choose_on_a_page, page};
use crate::test_mock::{GITHUB, GOOGLE, TestMock, redemption, rows};

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
        let page = page(&mock, provider).await.body;
        let (before, after) = page.split_once(r#"data-person="marie""#).unwrap();
        assert!(before.contains(r#"data-person="sofia""#));
        assert!(after.contains("Marie Curie"));
        assert!(after.contains("An ordinary customer of ours."));
    }
    let chosen = choose_on_a_page(&mock, GITHUB, &[("person", "marie")]).await;
    let form = redemption(chosen.callback().get("code").unwrap());
    let token = mock.token(GITHUB, &form).await.text("access_token");
    let account = mock.get_with(&token, GITHUB, "/user").await;
    assert_eq!(account.text("login"), "marie");
    assert_eq!(account.json()["id"], 4711);
}

#[tokio::test]
async fn an_account_overrides_the_members_of_its_person() {
    let mock = mock_of_marie().await;
    let shared = User {
        name: Some("Marie Curie".to_owned()),
        email_verified: true,
        ..User::default()
    };
    let google = User {
        id: "100000000000000000042".to_owned(),
        email: Some("marie@example.com".to_owned()),
        picture: Some("https://pictures.example/marie".to_owned()),
        ..shared.clone()
    };
    let github = User {
        id: "4711".to_owned(),
        username: Some("marie".to_owned()),
        email: Some("m@example.org".to_owned()),
        visibility: Visibility::Private,
        ..shared
    };
    assert_eq!(known(&mock, GOOGLE, "marie"), Some(google));
    assert_eq!(known(&mock, GITHUB, "marie"), Some(github));
}

#[tokio::test]
async fn a_person_with_one_account_is_unknown_at_the_other_provider() {
    let mock = mock_of_marie().await;
    let key = "only-at_github7";
    for (provider, is_known) in [(GITHUB, true), (GOOGLE, false)] {
        assert_eq!(page(&mock, provider).await.body.contains(key), is_known);
        assert_eq!(known(&mock, provider, key).is_some(), is_known);
    }
    let account = known(&mock, GITHUB, key).unwrap();
    assert_eq!((account.id.as_str(), account.name), ("4712", None));
    let refused = choose_on_a_page(&mock, GOOGLE, &[("person", key)]).await;
    assert_eq!(refused.status, 400);
}

#[tokio::test]
async fn a_known_user_is_found_by_the_key_and_can_be_queued() {
    let mock = mock_of_marie().await;
    for key in ["marie", "alan"] {
        let user = known(&mock, GOOGLE, key).unwrap();
        mock.queue(GOOGLE, Next::User(user));
        assert!(mock.sign_in(GOOGLE).await.is_granted(), "{key}");
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
