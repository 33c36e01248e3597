//! The methods of each address, and headers that are not text or there twice.

use mock_upstream::Provider;
use reqwest::RequestBuilder;
use reqwest::header::HeaderValue;

use crate::test_mock::{
    GITHUB, GOOGLE, Response, TestMock, authorization, authorization_path, redemption, rows,
};

async fn send(mock: &TestMock, provider: Provider, method: &str, path: &str) -> Response {
    Response::of(mock.request(provider, method, path)).await
}

/// The addresses of a GET.
const GETS: &str = "
    google | /
    github | /
    github | /mock/sign-in.js
    google | /.well-known/openid-configuration
    google | /oauth2/v3/certs
    google | /oauth2/v1/certs
    google | /tokeninfo?access_token=unknown
    google | /v1/userinfo
    google | /o/oauth2/auth?client_id=unknown
    github | /.well-known/oauth-authorization-server/login/oauth
    github | /login/oauth/authorize?client_id=unknown
    github | /user
    github | /user/emails
    github | /nothing
    google | /nothing
";

// RFC 9110, section 9.3.2.
#[tokio::test]
async fn a_head_has_the_status_and_the_headers_of_a_get_and_no_body() {
    let mock = TestMock::new().await;
    for [provider, path] in rows(GETS) {
        let provider = provider.parse().unwrap();
        let head = send(&mock, provider, "HEAD", path).await;
        let get = send(&mock, provider, "GET", path).await;
        let seen = (head.status, head.body.as_str());
        assert_eq!(seen, (get.status, ""), "{path}");
        for name in ["content-type", "content-length", "cache-control"] {
            assert_eq!(head.header(name), get.header(name), "{path}");
        }
        let is_404 = get.is_page(404, "404: Not found");
        assert!(is_404 || path != "/nothing", "{}", get.body);
    }
}

#[tokio::test]
async fn a_head_begins_no_sign_in() {
    let mock = TestMock::interactive().await;
    for provider in Provider::ALL {
        let path = authorization_path(provider);
        let path = format!("{path}?{}", authorization(provider).encoded());
        let head = send(&mock, provider, "HEAD", &path).await;
        assert_eq!((head.status, head.header("location")), (200, ""));
        assert_eq!(mock.upstream(provider).bytes_held(), 0);
    }
}

/// Methods that an address lacks, and those that it has.
const LACKING: &str = "
    google | / | POST DELETE | GET, HEAD
    google | /token | GET HEAD PUT | POST
    google | /revoke | GET | POST
    google | /oauth2/v3/certs | POST OPTIONS | GET, HEAD
    google | /tokeninfo | PUT | GET, HEAD, POST
    google | /oauth2/v2/userinfo | PATCH | GET, HEAD, POST
    google | /mock/forget | GET HEAD | POST
    github | /mock/sign-in | GET HEAD | POST
    github | /login/oauth/authorize | POST OPTIONS | GET, HEAD
    github | /login/oauth/access_token | GET HEAD | POST
    github | /user | POST BREW | GET, HEAD
";

// RFC 9110, section 15.5.6.
#[tokio::test]
async fn a_method_that_an_address_lacks_gets_405_and_those_that_it_has() {
    let mock = TestMock::new().await;
    for [provider, path, methods, allowed] in rows(LACKING) {
        for method in methods.split(' ') {
            let response = send(&mock, provider.parse().unwrap(), method, path).await;
            let answer = (response.status, response.header("allow"));
            assert_eq!(answer, (405, allowed), "{method} {path}");
        }
    }
}

/// A good token call but for its headers.
async fn token_call(mock: &TestMock, provider: Provider) -> RequestBuilder {
    let form = redemption(&mock.code(provider).await);
    mock.token_call(provider).form(&form.0)
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
                request = request.header(name, HeaderValue::from_bytes(value).unwrap());
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
        (GOOGLE, "invalid_client"),
        (GITHUB, "incorrect_client_credentials"),
    ] {
        for garbled in ["Basic", "Basic !", "Basic YQ=="] {
            let request = token_call(&mock, provider).await;
            let response = Response::of(request.header("authorization", garbled)).await;
            assert_eq!(response.text("error"), error, "{garbled}");
        }
    }
}
