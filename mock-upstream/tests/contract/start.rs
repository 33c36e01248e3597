//! The start and the end of a mock, and its settings.

use std::net::TcpListener;

use mock_upstream::settings::InvalidClient;
use mock_upstream::{Client, MockUpstream, Settings};

use crate::test_mock::{CALLBACK, TestMock};

fn client() -> Client {
    Client::new("id", "secret", [CALLBACK]).unwrap()
}

#[tokio::test]
async fn an_error_names_the_provider_and_the_address_in_use() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let mut settings = Settings::new(client(), client());
    settings.github.listen = address;
    let refused = MockUpstream::start(settings).await.unwrap_err().to_string();
    assert!(refused.contains("GitHub"), "{refused}");
    assert!(refused.contains(&address.to_string()), "{refused}");
}

#[tokio::test]
async fn a_dropped_mock_frees_its_address() {
    // A single success might be luck.
    for _ in 0..20 {
        // wiremock takes a lock when it is dropped, and tokio's budget of locks requires
        // a task to yield.
        tokio::task::yield_now().await;
        let mock = TestMock::new().await;
        let address = mock.upstreams.google().url().replace("http://", "");
        drop(mock);
        TcpListener::bind(address).unwrap();
    }
}

#[tokio::test]
async fn a_url_has_no_trailing_slash() {
    let mock = TestMock::new().await;
    for upstream in [mock.upstreams.google(), mock.upstreams.github()] {
        assert!(upstream.url().starts_with("http://127.0.0.1:"));
        assert!(!upstream.url().ends_with('/'));
    }
}

#[tokio::test]
async fn a_provider_names_the_url_at_which_it_is_reached() {
    let url = "https://google.test";
    let mock = TestMock::with(|settings| settings.google.url = Some(url.to_owned())).await;
    let google = mock.upstreams.google();
    let document = format!(
        "http://{}/.well-known/openid-configuration",
        google.address()
    );
    let document = mock.get(&document).await.json();
    assert_eq!(google.url(), url);
    assert_eq!(document["issuer"], "https://google.test");
    assert_eq!(document["token_endpoint"], "https://google.test/token");
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
fn debug_output_of_a_client_hides_its_secret() {
    assert!(!format!("{:?}", client()).contains(r#""secret""#));
}

#[tokio::test]
async fn an_unknown_path_is_a_404_page() {
    let mock = TestMock::new().await;
    for upstream in [mock.upstreams.google(), mock.upstreams.github()] {
        let response = mock.get(&format!("{}/nothing", upstream.url())).await;
        response.assert_page(404, "404");
    }
}
