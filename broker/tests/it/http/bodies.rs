//! Request bodies that are unusual and accepted: their JSON, media type and size.

use reqwest::Method;
use testkit::http::Response;

use crate::test_broker::{TestBroker, key, session_body};

const PATH: &str = "/v1/login/session";
const JSON: &str = "application/json";

async fn post(broker: &TestBroker, content_type: &str, body: impl Into<String>) -> Response {
    let request = broker.request(Method::POST, PATH);
    let request = request.header("Content-Type", content_type);
    request.body(body.into()).send().await
}

// Threats: A18.
#[tokio::test]
async fn a_body_of_32_kib_is_accepted_and_a_larger_one_starts_nothing() {
    let broker = TestBroker::start().await;
    let padded = |n: u8, length: usize| {
        let body = format!("\r\n\t {}", session_body(n));
        let spaces = " ".repeat(length - body.len());
        body + &spaces
    };
    let full = post(&broker, JSON, padded(1, 32 * 1024)).await;
    assert_eq!(full.status, 200);
    for length in [32 * 1024 + 1, 100_000] {
        let large = post(&broker, JSON, padded(2, length)).await;
        broker.has_refused(&large, 413, "body.size");
    }
    broker.session(2).await;
}

#[tokio::test]
async fn the_longest_request_fits_although_each_character_is_escaped() {
    let broker = TestBroker::start().await;
    let escape = |text: &str| -> String {
        text.chars()
            .map(|c| format!("\\u{:04x}", c as u32))
            .collect()
    };
    let callback = format!("https://a.example/{}", "x".repeat(2030));
    let members = [
        ("client_id", "x".repeat(100)),
        ("client_secret", "x".repeat(200)),
        ("session_key", key(1)),
        ("redirect_uri", callback),
    ]
    .map(|(name, value)| format!("\"{}\":\"{}\"", escape(name), escape(&value)));
    let request = broker.request(Method::POST, "/v1/login/result");
    let request = request.header("Content-Type", JSON);
    let body = format!("{{{}}}", members.join(","));
    // It is well-formed, but the client is unknown.
    let refused = request.body(body).send().await;
    broker.has_refused(&refused, 400, "client.recognised");
}

#[tokio::test]
async fn a_media_type_is_compared_without_case_and_ends_at_its_first_semicolon() {
    let broker = TestBroker::start().await;
    for (n, content_type) in (1..).zip([
        "application/json; charset=utf-8",
        "application/json;charset=UTF-8",
        "Application/JSON",
        "APPLICATION/JSON; CHARSET=ISO-8859-1",
        "application/json;",
        "application/json ;",
        "application/json ; charset=utf-8",
        "application/json;;",
        "application/json; charset",
        "application/json;\tcharset=\"utf-8",
    ]) {
        let response = post(&broker, content_type, session_body(n).to_string()).await;
        assert_eq!(response.status, 200, "{content_type}: {response:?}");
    }
}

#[tokio::test]
async fn a_body_is_read_if_nothing_but_its_transfer_is_chunked() {
    let broker = TestBroker::start().await;
    for (n, encoding) in (1..).zip(["identity", "Identity", ""]) {
        let request = broker.request(Method::POST, PATH);
        let request = request.header("Content-Encoding", encoding);
        let response = request.json(&session_body(n)).send().await;
        assert_eq!(response.status, 200, "{encoding:?}");
    }
    let body = session_body(4).to_string();
    for (coding, status) in [
        ("gzip, chunked", 415),
        ("x, chunked", 415),
        ("chunked", 200),
    ] {
        let request = format!(
            "POST {PATH} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\
             Content-Type: {JSON}\r\nTransfer-Encoding: {coding}\r\n\r\n\
             {:x}\r\n{body}\r\n0\r\n\r\n",
            body.len()
        );
        let response = broker.send_bytes(request).await;
        assert_eq!(response.status, status, "{coding}: {response:?}");
    }
}
