//! The methods of each address.

use mock_upstream::{Misbehaviour, Next, Provider};
use reqwest::Method;

use crate::test_mock::{Response, TestMock, authorization};

const GOOGLE: Provider = Provider::Google;
const GITHUB: Provider = Provider::GitHub;

async fn send(mock: &TestMock, provider: Provider, method: &str, path: &str) -> Response {
    let url = format!("{}{path}", mock.upstream(provider).url());
    let method = Method::from_bytes(method.as_bytes()).unwrap();
    Response::of(mock.request(method, &url)).await
}

// RFC 9110, section 9.3.2.
#[tokio::test]
async fn a_head_has_the_status_and_the_headers_of_a_get_and_no_body() {
    let mock = TestMock::new().await;
    for (provider, path) in [
        (GOOGLE, "/"),
        (GITHUB, "/"),
        (GITHUB, "/mock/sign-in.js"),
        (GOOGLE, "/.well-known/openid-configuration"),
        (GOOGLE, "/oauth2/v3/certs"),
        (GOOGLE, "/oauth2/v1/certs"),
        (GOOGLE, "/tokeninfo?access_token=unknown"),
        (GOOGLE, "/v1/userinfo"),
        (GOOGLE, "/o/oauth2/auth?client_id=unknown"),
        (
            GITHUB,
            "/.well-known/oauth-authorization-server/login/oauth",
        ),
        (GITHUB, "/login/oauth/authorize?client_id=unknown"),
        (GITHUB, "/user"),
        (GITHUB, "/user/emails"),
        (GITHUB, "/nothing"),
    ] {
        let head = send(&mock, provider, "HEAD", path).await;
        let get = send(&mock, provider, "GET", path).await;
        assert_eq!(
            (head.status, head.body.as_str()),
            (get.status, ""),
            "{path}"
        );
        for name in ["content-type", "content-length", "cache-control"] {
            assert_eq!(head.header(name), get.header(name), "{path}");
        }
    }
}

#[tokio::test]
async fn a_head_begins_no_sign_in() {
    let mock = crate::page::interactive().await;
    for (provider, path) in [
        (GOOGLE, "/o/oauth2/v2/auth"),
        (GITHUB, "/login/oauth/authorize"),
    ] {
        let path = format!("{path}?{}", authorization(provider).encoded());
        let head = send(&mock, provider, "HEAD", &path).await;
        assert_eq!((head.status, head.header("location")), (200, ""));
        assert_eq!(mock.upstream(provider).bytes_held(), 0);
    }
}

#[tokio::test]
async fn a_head_leaves_the_failure_of_the_next_request_for_the_keys() {
    let mock = TestMock::new().await;
    mock.queue(GOOGLE, Next::Misbehave(Misbehaviour::Keys500));
    mock.sign_in(GOOGLE).await;
    for (method, status) in [("HEAD", 200), ("GET", 500), ("GET", 200)] {
        let response = send(&mock, GOOGLE, method, "/oauth2/v3/certs").await;
        assert_eq!(response.status, status, "{method}");
    }
}

// RFC 9110, section 15.5.6.
#[tokio::test]
async fn a_method_that_an_address_lacks_gets_405_and_those_that_it_has() {
    let mock = TestMock::new().await;
    for (provider, path, methods, allowed) in [
        (GOOGLE, "/", "POST DELETE", "GET, HEAD"),
        (GOOGLE, "/token", "GET HEAD PUT", "POST"),
        (GOOGLE, "/revoke", "GET", "POST"),
        (GOOGLE, "/oauth2/v3/certs", "POST OPTIONS", "GET, HEAD"),
        (GOOGLE, "/tokeninfo", "PUT", "GET, HEAD, POST"),
        (GOOGLE, "/oauth2/v2/userinfo", "PATCH", "GET, HEAD, POST"),
        (GOOGLE, "/mock/forget", "GET HEAD", "POST"),
        (GITHUB, "/mock/sign-in", "GET HEAD", "POST"),
        (
            GITHUB,
            "/login/oauth/authorize",
            "POST OPTIONS",
            "GET, HEAD",
        ),
        (GITHUB, "/login/oauth/access_token", "GET HEAD", "POST"),
        (GITHUB, "/user", "POST BREW", "GET, HEAD"),
    ] {
        for method in methods.split(' ') {
            let response = send(&mock, provider, method, path).await;
            let answer = (response.status, response.header("allow"));
            assert_eq!(answer, (405, allowed), "{method} {path}");
        }
    }
}
