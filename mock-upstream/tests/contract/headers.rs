//! Headers that are not text, or there twice.

use mock_upstream::Provider;
use reqwest::header::{HeaderName, HeaderValue};
use reqwest::{Method, RequestBuilder};

use crate::test_mock::{Response, TestMock, redemption};

/// A good token call but for its headers.
async fn token_call(mock: &TestMock, provider: Provider) -> RequestBuilder {
    let form = redemption(&mock.code(provider).await);
    let request = mock.request(Method::POST, &mock.token_url(provider));
    let request = request.header("accept", "application/json");
    request.form(&form.0)
}

fn bytes(value: &'static [u8]) -> HeaderValue {
    HeaderValue::from_bytes(value).unwrap()
}

#[tokio::test]
async fn a_header_that_decides_is_text_and_there_once() {
    let mock = TestMock::new().await;
    for (name, values) in [
        ("authorization", &[&b"Basic \xff"[..]][..]),
        ("authorization", &[b"Bearer a", b"Bearer b"]),
        ("content-type", &[b"application/json"]),
        ("x-github-api-version", &[b"2022-11-28\xff"]),
    ] {
        for provider in Provider::ALL {
            let mut request = token_call(&mock, provider).await;
            for value in values {
                let name: HeaderName = name.parse().unwrap();
                request = request.header(name, bytes(value));
            }
            Response::of(request).await.assert_page(400, name);
        }
    }
}

// RFC 6749, section 2.3: a client uses one method of authentication in a request.
#[tokio::test]
async fn basic_credentials_that_cannot_be_decoded_are_not_replaced_by_those_in_the_form() {
    let mock = TestMock::new().await;
    for (provider, error) in [
        (Provider::Google, "invalid_client"),
        (Provider::GitHub, "incorrect_client_credentials"),
    ] {
        for garbled in ["Basic", "Basic !", "Basic YQ=="] {
            let request = token_call(&mock, provider).await;
            let response = Response::of(request.header("authorization", garbled)).await;
            assert_eq!(response.text("error"), error, "{garbled}");
        }
    }
}
