//! The start and the end of a mock, and its settings.

use std::net::TcpListener;

use mock_upstream::settings::InvalidClient;
use mock_upstream::{Client, MockUpstream, Settings};

use crate::test_mock::{CALLBACK, Response, TestMock};

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
async fn a_url_is_that_of_the_address_unless_another_one_is_set() {
    let url = "https://google.test";
    let mock = TestMock::with(|settings| settings.google.url = Some(url.to_owned())).await;
    let (google, github) = (mock.upstreams.google(), mock.upstreams.github());
    assert_eq!(github.url(), format!("http://{}", github.address()));
    assert_eq!(google.url(), url);
    let path = "/.well-known/openid-configuration";
    let document = reqwest::Client::builder().no_proxy().build().unwrap();
    let document = document.get(format!("http://{}{path}", google.address()));
    let document = Response::of(document).await;
    assert_eq!(document.text("issuer"), url);
    assert_eq!(document.text("token_endpoint"), "https://google.test/token");
}

#[test]
fn a_redirect_uri_is_an_absolute_web_address_without_a_fragment() {
    let refusal = |uris: &[&str]| Client::new("id", "secret", uris).err();
    let good = ["https://app.example/cb", "http://127.0.0.1:8000/cb?x=1"];
    assert_eq!(refusal(&good), None);
    assert_eq!(refusal(&[]), Some(InvalidClient::NoRedirectUri));
    for uri in [
        "/callback",
        "javascript:alert(1)",
        "https://app.example/#x",
        "https://app.example/ space",
        "https://app.example/\r\nset-cookie: a=b",
        "https://äpp.example/",
    ] {
        let refused = refusal(&["https://app.example/", uri]);
        assert_eq!(refused, Some(InvalidClient::RedirectUri), "{uri}");
    }
}

#[test]
fn debug_output_of_a_client_hides_its_secret() {
    assert!(!format!("{:?}", client()).contains(r#""secret""#));
}
