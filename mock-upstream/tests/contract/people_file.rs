//! The people file: its users on the sign-in pages.

mod refusals;

use std::path::Path;

use mock_upstream::users::{KnownUsers, Visibility};
use mock_upstream::{Mode, Next, Provider, User};
use tempfile::TempDir;

use super::page::{choose, handle, page};
use crate::test_mock::{TestMock, redemption};

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

async fn mock_of(content: &str) -> TestMock {
    let users = read(content).unwrap();
    TestMock::with(|settings| {
        settings.users = users;
        settings.google.mode = Mode::Interactive;
        settings.github.mode = Mode::Interactive;
    })
    .await
}

fn known(mock: &TestMock, provider: Provider, key: &str) -> Option<User> {
    mock.upstream(provider).known_user(key).ok()
}

#[tokio::test]
async fn a_person_has_a_button_after_those_of_the_seed_users() {
    let mock = mock_of(MARIE).await;
    for provider in Provider::ALL {
        let page = page(&mock, provider).await.body;
        let (before, after) = page.split_once(r#"data-person="marie""#).unwrap();
        assert!(before.contains(r#"data-person="sofia""#));
        assert!(after.contains("Marie Curie"));
        assert!(after.contains("An ordinary customer of ours."));
    }
}

#[tokio::test]
async fn a_person_chosen_on_the_page_signs_in() {
    let mock = mock_of(MARIE).await;
    let handle = handle(&page(&mock, Provider::GitHub).await);
    let pairs = [("person", "marie")];
    let response = choose(&mock, Provider::GitHub, &handle, &pairs).await;
    let code = response.callback().get("code").unwrap().to_owned();
    let answer = mock.token(Provider::GitHub, &redemption(&code)).await;
    let token = answer.text("access_token");
    let account = mock.get_with_token(Provider::GitHub, "/user", &token).await;
    assert_eq!(account.json()["id"], 4711);
    assert_eq!(account.json()["login"], "marie");
}

#[tokio::test]
async fn an_account_overrides_the_members_of_its_person() {
    let mock = mock_of(MARIE).await;
    let google = known(&mock, Provider::Google, "marie").unwrap();
    let github = known(&mock, Provider::GitHub, "marie").unwrap();
    let shared = User {
        name: Some("Marie Curie".to_owned()),
        email_verified: true,
        ..User::default()
    };
    let expected = User {
        id: "100000000000000000042".to_owned(),
        email: Some("marie@example.com".to_owned()),
        picture: Some("https://pictures.example/marie".to_owned()),
        ..shared.clone()
    };
    assert_eq!(google, expected);
    let expected = User {
        id: "4711".to_owned(),
        username: Some("marie".to_owned()),
        email: Some("m@example.org".to_owned()),
        visibility: Visibility::Private,
        ..shared
    };
    assert_eq!(github, expected);
}

#[tokio::test]
async fn a_person_with_one_account_is_unknown_at_the_other_provider() {
    let mock = mock_of(MARIE).await;
    let key = "only-at_github7";
    assert!(page(&mock, Provider::GitHub).await.body.contains(key));
    assert!(!page(&mock, Provider::Google).await.body.contains(key));
    let account = known(&mock, Provider::GitHub, key).unwrap();
    assert_eq!((account.id.as_str(), account.name), ("4712", None));
    assert_eq!(known(&mock, Provider::Google, key), None);
    let handle = handle(&page(&mock, Provider::Google).await);
    let refused = choose(&mock, Provider::Google, &handle, &[("person", key)]).await;
    assert_eq!(refused.status, 400);
}

#[tokio::test]
async fn a_known_user_is_found_by_the_key_and_can_be_queued() {
    let mock = mock_of(MARIE).await;
    for key in ["marie", "alan"] {
        let user = known(&mock, Provider::Google, key).unwrap();
        mock.queue(Provider::Google, Next::User(user));
        assert_eq!(mock.sign_in(Provider::Google).await.status, 200, "{key}");
    }
    let unknown = mock.upstreams.google().known_user("Marie").unwrap_err();
    let message = "Google has no user with this key; the buttons of its sign-in page show the keys";
    assert_eq!(unknown.to_string(), message);
}
