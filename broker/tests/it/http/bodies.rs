//! Request bodies that are unusual and accepted: their JSON, media type and size.

use reqwest::Method;
use testkit::http::Response;

use super::headers::raw;
use crate::test_broker::{TestBroker, key, session_body};

async fn post(broker: &TestBroker, content_type: &str, body: impl Into<String>) -> Response {
    let request = broker
        .request(Method::POST, "/v1/login/session")
        .header("Content-Type", content_type)
        .body(body.into());
    request.send().await
}

#[tokio::test]
async fn every_spelling_of_json_is_accepted() {
    let broker = TestBroker::start().await;
    let check = async |n: u8, write: fn(String) -> String| {
        let body = write(session_body(n).to_string());
        let response = post(&broker, "application/json", body).await;
        assert_eq!(response.status, 200, "{response:?}");
    };
    check(1, |text| format!(" \t\r\n{text} \t\r\n")).await;
    check(2, |text| text.replace(',', " ,\n")).await;
    check(3, |text| text.replace("prj_ada", "\\u0070rj_ad\\u0061")).await;
    check(4, |text| {
        text.replace("\"client_id\"", "\"client\\u005fid\"")
    })
    .await;
    check(5, |text| text.replace("https://", "https:\\/\\/")).await;
}

// Threats: A18.
#[tokio::test]
async fn a_body_of_32_kib_is_accepted_and_a_larger_one_starts_nothing() {
    let broker = TestBroker::start().await;
    let padded = |n: u8, length: usize| {
        let mut body = session_body(n).to_string();
        body.push_str(&" ".repeat(length - body.len()));
        body
    };
    let send = async |body| post(&broker, "application/json", body).await;
    assert_eq!(send(padded(1, 32 * 1024)).await.status, 200);
    for length in [32 * 1024 + 1, 100_000] {
        send(padded(2, length)).await.is_refusal(413);
        assert_eq!(broker.last_rule(), Some("body.size"));
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
    let fields = [
        ("client_id", "x".repeat(100)),
        ("client_secret", "x".repeat(200)),
        ("session_key", key(1)),
        (
            "redirect_uri",
            format!("https://a.example/{}", "x".repeat(2030)),
        ),
    ];
    let members: Vec<_> = fields
        .iter()
        .map(|(name, value)| format!("\"{}\":\"{}\"", escape(name), escape(value)))
        .collect();
    let request = broker
        .request(Method::POST, "/v1/login/result")
        .header("Content-Type", "application/json")
        .body(format!("{{{}}}", members.join(",")));
    // It is well-formed, but the client is unknown.
    request.send().await.is_refusal(400);
    assert_eq!(broker.last_rule(), Some("client.recognised"));
}

/// Asserts that a body of each of these media types is read.
async fn are_json(content_types: &[&str]) {
    let broker = TestBroker::start().await;
    for (n, content_type) in (1..).zip(content_types) {
        let response = post(&broker, content_type, session_body(n).to_string()).await;
        assert_eq!(response.status, 200, "{content_type}: {response:?}");
    }
}

#[tokio::test]
async fn a_media_type_is_compared_without_case_and_parameters() {
    are_json(&[
        "application/json",
        "application/json; charset=utf-8",
        "application/json;charset=UTF-8",
        "Application/JSON",
        "APPLICATION/JSON; CHARSET=ISO-8859-1",
        "application/json; profile=\"x\"",
    ])
    .await;
}

#[tokio::test]
async fn a_media_type_ends_at_its_first_semicolon() {
    are_json(&[
        "application/json;",
        "application/json ;",
        "application/json ; charset=utf-8",
        "application/json; charset=utf-8;",
        "application/json;;",
        "application/json; charset",
        "application/json;\tcharset=\"utf-8",
    ])
    .await;
}

#[tokio::test]
async fn a_body_with_the_identity_encoding_is_read() {
    let broker = TestBroker::start().await;
    for (n, encoding) in (1..).zip(["identity", "Identity", ""]) {
        let request = broker
            .request(Method::POST, "/v1/login/session")
            .header("Content-Encoding", encoding)
            .json(&session_body(n));
        assert_eq!(request.send().await.status, 200, "{encoding:?}");
    }
}

#[tokio::test]
async fn a_body_with_another_transfer_coding_than_chunked_is_refused() {
    let broker = TestBroker::start().await;
    let body = session_body(1).to_string();
    for coding in ["gzip, chunked", "x, chunked"] {
        let request = format!(
            "POST /v1/login/session HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\
             Content-Type: application/json\r\nTransfer-Encoding: {coding}\r\n\r\n\
             {:x}\r\n{body}\r\n0\r\n\r\n",
            body.len()
        );
        let response = raw(&broker, request.as_bytes()).await;
        assert!(response.starts_with("http/1.1 415"), "{response}");
    }
    broker.session(1).await;
}
