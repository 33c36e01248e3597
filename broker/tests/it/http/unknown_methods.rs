//! Method overrides in forms, and methods that no path has.

use reqwest::Method;

use super::headers::raw;
use super::methods::PATHS;
use crate::test_broker::{CALLBACK, TestBroker, back_path};

const FORM: &str = "application/x-www-form-urlencoded";

// Threats: A36.
#[tokio::test]
async fn a_form_cannot_override_its_method() {
    let broker = TestBroker::start().await;
    for (path, _) in PATHS {
        for method in ["get", "put", "delete"] {
            let form = [("_method", method)];
            let request = broker.request(Method::POST, path).form(&form);
            let response = request.send().await;
            response.is_refusal(415);
            assert!(response.header("set-cookie").is_none());
        }
    }
}

#[tokio::test]
async fn a_form_with_the_override_get_binds_and_consumes_nothing() {
    let broker = TestBroker::start().await;
    let path = broker.session(1).await;
    let browser = broker.browser();
    let form = async |path: &str| {
        let request = broker
            .request(Method::POST, path)
            .header("Referer", "https://app.example/")
            .header("Cookie", browser.cookie_header())
            .form(&[("_method", "get")]);
        request.send().await.is_refusal(415);
    };
    form(&path).await;
    let redirect = browser.get(&path).await;
    assert_eq!(redirect.status, 303, "no browser is bound");
    let back = back_path(&redirect, "code=upstream-code");
    form(&back).await;
    assert_eq!(broker.calls_upstream().await, 0);
    browser.get(&back).await.redirects_to(CALLBACK);
    assert_eq!(broker.result(1).await.json()["status"], "succeeded");
}

#[tokio::test]
async fn a_get_with_the_media_type_of_a_form_is_a_get() {
    let broker = TestBroker::start().await;
    let token = broker.access_token().await;
    for (method, body) in [
        (Method::GET, ""),
        (Method::HEAD, ""),
        (Method::GET, "a=b"),
        (Method::GET, "a=b&_method=get"),
        (Method::GET, "_methods=get"),
    ] {
        let request = broker
            .request(method.clone(), "/v1/profile")
            .header("Content-Type", FORM)
            .bearer_auth(&token)
            .body(body);
        assert_eq!(request.send().await.status, 200, "{method} {body:?}");
    }
    let path = broker.session(1).await;
    let browser = broker.browser().with_header("Content-Type", FORM);
    assert_eq!(browser.get(&path).await.status, 303);
}

#[tokio::test]
async fn a_wrong_method_is_405_whatever_its_media_type() {
    let broker = TestBroker::start().await;
    for method in [Method::PUT, Method::DELETE, Method::PATCH, Method::OPTIONS] {
        for (media_type, body) in [(FORM, ""), (FORM, "a=b"), ("text/plain", "_method=get")] {
            let request = broker
                .request(method.clone(), "/v1/profile")
                .header("Content-Type", media_type)
                .body(body);
            let response = request.send().await;
            response.is_refusal(405);
            assert_eq!(response.header("allow"), Some("GET, HEAD"), "{method}");
        }
    }
}

/// Rocket changes the method before any code of the broker runs, so a GET with the
/// override `get` looks like a POST with it.
// Threats: A36.
#[tokio::test]
async fn every_spelling_of_a_method_override_is_refused() {
    let broker = TestBroker::start().await;
    let token = broker.access_token().await;
    for body in [
        "_method=get",
        "_method=GET&a=b",
        "&&_method=get",
        "_method=head",
    ] {
        for method in [Method::POST, Method::GET] {
            for media_type in [FORM, "APPLICATION/X-WWW-FORM-URLENCODED; charset=utf-8"] {
                let request = broker
                    .request(method.clone(), "/v1/profile")
                    .header("Content-Type", media_type)
                    .bearer_auth(&token)
                    .body(body);
                assert_eq!(request.send().await.status, 415, "{method} {body}");
                assert_eq!(broker.last_rule(), Some("body.media_type"));
            }
        }
        let chunked = format!(
            "POST /v1/profile HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\
             Authorization: Bearer {token}\r\nContent-Type: {FORM}\r\n\
             Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n\
             2\r\n{}\r\n{:x}\r\n{}\r\n0\r\n\r\n",
            &body[..2],
            body.len() - 2,
            &body[2..]
        );
        let response = raw(&broker, chunked.as_bytes()).await;
        assert!(response.starts_with("http/1.1 415 "), "{body}: {response}");
    }
}

const ODD_METHODS: [&str; 6] = ["CONNECT", "PROPFIND", "QUERY", "get", "BREW", "Post"];

/// Sends `method` at `target` with these headers, byte for byte.
async fn send(broker: &TestBroker, method: &str, target: &str, headers: &str) -> String {
    let request =
        format!("{method} {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{headers}\r\n");
    raw(broker, request.as_bytes()).await
}

// Threats: A36.
#[tokio::test]
async fn an_unknown_method_is_405_with_the_allowed_ones() {
    let broker = TestBroker::start().await;
    for (path, allow) in PATHS {
        let allow = allow.to_lowercase();
        for method in ODD_METHODS {
            let response = send(&broker, method, path, "").await;
            assert!(
                response.starts_with("http/1.1 405 "),
                "{method} {path}: {response}"
            );
            let allow = format!("\r\nallow: {allow}\r\n");
            assert!(response.contains(&allow), "{method} {path}: {response}");
            assert!(
                response.contains("\"error\":\"request_failed\""),
                "{response}"
            );
            assert!(
                response.contains("\r\ncache-control: no-store\r\n"),
                "{response}"
            );
            assert_eq!(
                broker.last_rule(),
                Some("request.method"),
                "{method} {path}"
            );
            let event = broker.events().pop().unwrap();
            let id = format!("\r\nx-request-id: {}\r\n", event.request_id.to_lowercase());
            assert!(response.contains(&id), "{response}");
        }
    }
}

// Threats: A36.
#[tokio::test]
async fn the_preconditions_apply_to_every_method() {
    let broker = TestBroker::start().await;
    for method in ODD_METHODS {
        for (target, headers, status, rule) in [
            ("/nowhere", "", 404, "request.path"),
            ("//v1/token", "", 404, "request.path"),
            (
                "/v1/token?client_secret=x",
                "",
                400,
                "request.secret_in_url",
            ),
            ("/nowhere?session_key=x", "", 400, "request.secret_in_url"),
            (
                "/livez",
                "Sec-Purpose: prefetch\r\n",
                503,
                "request.prefetch",
            ),
        ] {
            let response = send(&broker, method, target, headers).await;
            let line = format!("http/1.1 {status} ");
            assert!(response.starts_with(&line), "{method} {target}: {response}");
            assert!(
                response.contains("\"error\":\"request_failed\""),
                "{response}"
            );
            assert_eq!(broker.last_rule(), Some(rule), "{method} {target}");
        }
    }
}

#[tokio::test]
async fn an_unknown_method_is_a_page_for_a_browser() {
    let broker = TestBroker::start().await;
    let html = "Accept: text/html\r\n";
    let page = send(&broker, "BREW", "/login/handle", html).await;
    assert!(page.starts_with("http/1.1 405 "), "{page}");
    assert!(page.contains("data-rule=\"request.method\""), "{page}");
    let backends = send(&broker, "BREW", "/v1/token", html).await;
    assert!(
        backends.contains("\"error\":\"request_failed\""),
        "{backends}"
    );
}

/// Rocket refuses a target that is no path before any code of the broker runs.
#[tokio::test]
async fn a_connect_request_is_refused_like_any_other() {
    let broker = TestBroker::start().await;
    let response = send(&broker, "CONNECT", "evil.example:443", "").await;
    assert!(response.starts_with("http/1.1 400 "), "{response}");
    assert!(
        response.contains("\"error\":\"request_failed\""),
        "{response}"
    );
    assert!(response.contains("\r\nx-request-id: "), "{response}");
    assert_eq!(broker.last_rule(), Some("request.http"));
}
