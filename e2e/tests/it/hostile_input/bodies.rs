//! Bodies that are broken, wrong, mislabelled or huge.

use reqwest::Method;
use serde_json::json;

use super::{ENDPOINTS, valid_body};
use crate::login::{Flow, GOOGLE};
use crate::test_stack::TestStack;
use testkit::backend::Backend;
use testkit::http::REFUSED;

#[tokio::test]
async fn a_malformed_body_is_refused_and_the_connection_goes_on() {
    let stack = TestStack::start().await;
    for path in ENDPOINTS {
        let whole = valid_body(&stack.backend, path).to_string();
        let nested = "[".repeat(10_000);
        for body in [
            "",
            " ",
            "null",
            "true",
            "0",
            "\"text\"",
            "[]",
            "{",
            "}",
            "{}",
            "{}{}",
            "{\"client_id\"}",
            "{'client_id':'x'}",
            "{\"client_id\":NaN}",
            "{\"client_id\":1e999}",
            "{\"client_id\":\"\\ud800\"}",
            "{\"client_id\":\"\u{0}\"}",
            "\u{FEFF}{}",
            "client_id=x&client_secret=y",
            "<xml/>",
            &nested,
            &format!("\u{FEFF}{whole}"),
            &format!("{whole}x"),
            &format!("{whole}{whole}"),
            &format!("[{whole}]"),
            &whole[..whole.len() - 1],
            &whole.replacen('{', "{\"extra\":1,", 1),
            &whole.replacen('{', "{\"client_id\":\"twice\",", 1),
            &whole.replacen("client_id", "Client_Id", 1),
            &whole.replacen(':', "=", 1),
            &whole.replacen(',', ",,", 1),
        ] {
            refuses_body(&stack, path, body.as_bytes().to_vec()).await;
        }
        for bytes in [
            b"\xff\xfe{\0}\0".to_vec(),
            b"{\"client_id\":\"\xff\"}".to_vec(),
            vec![0; 64],
        ] {
            refuses_body(&stack, path, bytes).await;
        }
    }
    stack.sign_in(Flow::Clean, GOOGLE).await.is_ada(GOOGLE);
}

async fn refuses_body(stack: &TestStack, path: &str, body: Vec<u8>) {
    let shown = String::from_utf8_lossy(&body[..body.len().min(60)]).into_owned();
    let request = stack
        .backend
        .request(Method::POST, path)
        .header("Content-Type", "application/json")
        .body(body);
    let response = request.send().await;
    assert_eq!(
        (response.status, response.text()),
        (400, REFUSED),
        "{path} {shown}"
    );
    assert_eq!(stack.backend.providers().await.status, 200);
}

#[tokio::test]
async fn every_field_of_the_wrong_type_or_absent_is_refused() {
    let stack = TestStack::start().await;
    for path in ENDPOINTS {
        let whole = valid_body(&stack.backend, path);
        for field in whole.as_object().expect("an object").keys() {
            for value in [
                json!(null),
                json!(1),
                json!(true),
                json!([]),
                json!({}),
                json!([""]),
            ] {
                let mut body = whole.clone();
                body[field] = value;
                stack.backend.post(path, &body).await.is_refusal(400);
            }
            let mut body = whole.clone();
            body.as_object_mut().expect("an object").remove(field);
            stack.backend.post(path, &body).await.is_refusal(400);
        }
    }
}

#[tokio::test]
async fn values_at_the_edge_of_their_limits_are_judged_by_the_specification() {
    let stack = TestStack::start().await;
    let check = async |path: &str, field: &str, value: &str, status: u16| {
        let mut body = valid_body(&stack.backend, path);
        body[field] = value.into();
        let response = stack.backend.post(path, &body).await;
        assert_eq!(response.status, status, "{path} {field} {value}");
    };
    let long = |count| "x".repeat(count);
    for path in ["/v1/login/session", "/v1/token"] {
        // Well formed, and nobody's.
        check(path, "client_id", &long(100), 401).await;
        check(path, "client_id", &"é".repeat(100), 401).await;
        check(path, "client_secret", &long(200), 401).await;
        check(path, "client_secret", "x", 401).await;
        check(path, "client_id", &long(101), 400).await;
        check(path, "client_secret", &long(201), 400).await;
        check(path, "client_secret", "", 400).await;
    }
    check("/v1/login/session", "client_id", "", 400).await;
    check("/v1/token", "client_id", "", 401).await;
    for path in ["/v1/login/session", "/v1/login/result"] {
        for key in [
            &long(42),
            &long(44),
            &"+".repeat(43),
            &format!("{}\n", long(43)),
        ] {
            check(path, "session_key", key, 400).await;
        }
    }
    for verifier in [&long(42), &long(129), &"+".repeat(43)] {
        check("/v1/token", "code_verifier", verifier, 400).await;
    }
    check("/v1/token", "code", &long(200), 400).await;
    check("/v1/token", "code", &long(201), 400).await;
    check("/v1/token", "grant_type", "refresh_token", 400).await;
    for provider in ["Google", "gitlab", "", "google "] {
        check("/v1/login/session", "provider", provider, 400).await;
    }
}

#[tokio::test]
async fn a_body_that_is_not_declared_as_json_is_415() {
    let stack = TestStack::start().await;
    for path in ENDPOINTS {
        let body = valid_body(&stack.backend, path).to_string();
        for media_type in [
            "application/x-www-form-urlencoded",
            "text/plain",
            "text/json",
            "application/jsonp",
            "application/json, text/plain",
            "",
        ] {
            let request = stack.backend.request(Method::POST, path).body(body.clone());
            let response = request.header("Content-Type", media_type).send().await;
            assert_eq!(response.status, 415, "{path} {media_type:?}");
        }
        let untyped = stack.backend.request(Method::POST, path).body(body.clone());
        assert_eq!(untyped.send().await.status, 415);
    }
}

#[tokio::test]
async fn a_media_type_is_compared_without_case_and_parameters() {
    let stack = TestStack::start().await;
    for media_type in [
        "application/json; charset=utf-8",
        "APPLICATION/JSON",
        "application/json;x=y",
    ] {
        let body = valid_body(&stack.backend, "/v1/login/session").to_string();
        let request = stack
            .backend
            .request(Method::POST, "/v1/login/session")
            .body(body);
        let response = request.header("Content-Type", media_type).send().await;
        assert_eq!(response.status, 200, "{media_type}");
    }
}

#[tokio::test]
async fn a_body_that_is_too_large_is_413() {
    let stack = TestStack::start().await;
    for path in ENDPOINTS {
        for kibibytes in [33, 64, 256] {
            let body = padded(&stack.backend, path, kibibytes * 1024);
            let response = json_request(&stack, path, body).send().await;
            assert_eq!(response.status, 413, "{path} {kibibytes} KiB");
            assert_eq!(
                response.text(),
                r#"{"error":"request_failed","message":"The request is too large."}"#
            );
            assert_eq!(stack.backend.providers().await.status, 200);
        }
    }
}

#[tokio::test]
async fn a_body_of_megabytes_is_413_or_the_end_of_the_connection() {
    let stack = TestStack::start().await;
    for path in ENDPOINTS {
        let body = padded(&stack.backend, path, 4 * 1024 * 1024);
        match json_request(&stack, path, body).try_send().await {
            // 502 is how the wire tells that the broker has closed on it.
            Ok(response) => assert!([413, 502].contains(&response.status)),
            // The server stopped reading while the client was still sending.
            Err(error) => assert!(!error.is_timeout(), "{error}"),
        }
        assert_eq!(stack.backend.providers().await.status, 200);
    }
}

#[tokio::test]
async fn the_largest_legitimate_body_is_read() {
    let stack = TestStack::start().await;
    let response = json_request(
        &stack,
        "/v1/login/session",
        padded(&stack.backend, "/v1/login/session", 32 * 1024 - 1),
    )
    .send()
    .await;
    assert_eq!(response.status, 200, "{}", response.text());
}

/// A valid body, made `size` bytes long by the space that JSON permits.
fn padded(backend: &Backend, path: &str, size: usize) -> String {
    let body = valid_body(backend, path).to_string();
    format!("{body}{}", " ".repeat(size - body.len()))
}

fn json_request(stack: &TestStack, path: &str, body: String) -> testkit::http::Request {
    stack
        .backend
        .request(Method::POST, path)
        .header("Content-Type", "application/json")
        .body(body)
}
