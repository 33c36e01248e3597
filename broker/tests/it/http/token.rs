//! `POST /v1/token`, and the access token at `/v1/profile` and `/v1/revoke`.

use reqwest::Method;
use serde_json::json;

use crate::test_broker::{TestBroker, adas_profile, key, token_body, with};

#[tokio::test]
async fn a_code_is_exchanged_for_a_token_and_the_token_for_a_profile() {
    let broker = TestBroker::start().await;
    let response = broker.token(&broker.code().await).await;
    let token = response.json()["access_token"].as_str().unwrap().to_owned();
    let rest = r#""token_type":"Bearer","expires_in":900,"scope":"profile""#;
    response.is(200, &format!(r#"{{"access_token":"{token}",{rest}}}"#));
    assert_eq!(response.header("pragma"), Some("no-cache"));
    let (prefix, rest) = token.split_once('_').unwrap();
    assert_eq!((prefix, rest.len()), ("fsi", 43));
    broker.profile(&token).await.is_json(200, &adas_profile());
}

// Threats: CVE-2026-33504.
#[tokio::test]
async fn sql_in_a_field_is_only_an_unknown_value() {
    let broker = TestBroker::start().await;
    let code = broker.code().await;
    for text in [
        "' OR '1'='1",
        "'; DROP TABLE grants; --",
        "$1",
        "?1",
        "%",
        "\\",
        "\0",
    ] {
        for (field, status, rule) in [
            ("code", 400, "code.known"),
            ("client_id", 401, "client.recognised"),
        ] {
            let body = with(token_body(&code), field, text);
            broker.refuses("/v1/token", &body, status, rule).await;
        }
    }
    assert_eq!(broker.token(&code).await.status, 200);
}

// Threats: A22, A23.
#[tokio::test]
async fn a_revocation_succeeds_whatever_the_token() {
    let broker = TestBroker::start().await;
    let token = broker.access_token().await;
    let unknown = format!("fsi_{}", key(1));
    for token in [&token, &token, &unknown] {
        broker.revoke(token).await.is(200, "{}");
    }
    broker.has_refused(&broker.profile(&token).await, 401, "bearer.ended");
    broker.advance_ms(901_000);
    broker.revoke(&token).await.is_json(200, &json!({}));
}

#[tokio::test]
async fn the_body_of_a_revocation_is_not_read() {
    let broker = TestBroker::start().await;
    for (content_type, body) in [
        ("application/json", "not json".to_owned()),
        ("application/x-www-form-urlencoded", "token=x".to_owned()),
        ("text/plain", "x".repeat(40_000)),
    ] {
        let token = broker.access_token().await;
        let request = broker
            .request(Method::POST, "/v1/revoke")
            .bearer_auth(&token);
        let request = request.header("Content-Type", content_type).body(body);
        request.send().await.is_json(200, &json!({}));
        broker.profile(&token).await.is_refusal(401);
    }
}
