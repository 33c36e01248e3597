//! How a mock starts and what it refuses to start with.

use std::net::TcpListener;

use mock_upstream::settings::InvalidClient;
use mock_upstream::{Client, MockUpstream, Settings};

use crate::world::{CALLBACK, World};

fn client() -> Client {
    Client::new("id", "secret", [CALLBACK]).unwrap()
}

#[tokio::test]
async fn a_taken_port_is_named_in_the_error() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let mut settings = Settings::new(client(), client());
    settings.github.listen = address;
    let refused = MockUpstream::start(settings).await.unwrap_err().to_string();
    assert!(refused.contains("GitHub"), "{refused}");
    assert!(refused.contains(&address.to_string()), "{refused}");
}

#[tokio::test]
async fn a_mock_that_is_gone_has_left_its_address() {
    // Once might be luck.
    for _ in 0..20 {
        // wiremock takes a lock when it is dropped, and tokio hands out only so
        // many before a task has to yield.
        tokio::task::yield_now().await;
        let world = World::new().await;
        let address = world.mock.google().url().replace("http://", "");
        drop(world);
        TcpListener::bind(address).unwrap();
    }
}

#[tokio::test]
async fn a_url_has_no_trailing_slash() {
    let world = World::new().await;
    for upstream in [world.mock.google(), world.mock.github()] {
        assert!(upstream.url().starts_with("http://127.0.0.1:"));
        assert!(!upstream.url().ends_with('/'));
    }
}

#[tokio::test]
async fn a_provider_may_be_found_under_another_name() {
    let world = World::with(|settings| settings.google.host = Some("localhost".to_owned())).await;
    let url = world.mock.google().url();
    let document = world
        .get(&format!("{url}/.well-known/openid-configuration"))
        .await;
    assert!(url.starts_with("http://localhost:"));
    assert_eq!(document.json()["issuer"], url);
}

#[track_caller]
fn check(uris: &[&str], expected: Option<InvalidClient>) {
    assert_eq!(
        Client::new("id", "secret", uris).err(),
        expected,
        "{uris:?}"
    );
}

#[test]
fn a_redirect_uri_is_an_absolute_web_address_without_a_fragment() {
    check(
        &["https://app.example/cb", "http://127.0.0.1:8000/cb?x=1"],
        None,
    );
    check(&[], Some(InvalidClient::NoRedirectUri));
    let refused = [
        "/callback",
        "javascript:alert(1)",
        "https://app.example/#x",
        "https://app.example/ space",
        "https://app.example/\r\nset-cookie: a=b",
        "https://äpp.example/",
    ];
    for uri in refused {
        check(
            &["https://app.example/", uri],
            Some(InvalidClient::RedirectUri),
        );
    }
}

#[test]
fn a_clients_secret_is_not_printed() {
    assert!(!format!("{:?}", client()).contains(r#""secret""#));
}

#[tokio::test]
async fn an_unknown_path_is_a_page() {
    let world = World::new().await;
    for upstream in [world.mock.google(), world.mock.github()] {
        let seen = world.get(&format!("{}/nothing", upstream.url())).await;
        seen.assert_page(404, "404");
    }
}
