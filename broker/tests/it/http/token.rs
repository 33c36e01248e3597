//! `POST /v1/token`, and the access token at `/v1/profile` and `/v1/revoke`.

use reqwest::Method;
use serde_json::json;

use crate::test_broker::{
    BOB_CALLBACK, BOB_SECRET, LOCAL_CALLBACK, TestBroker, adas_profile, all, key, token_body, with,
};

#[tokio::test]
async fn a_code_is_exchanged_for_a_token_and_the_token_for_a_profile() {
    let broker = TestBroker::start().await;
    let response = broker.token(&broker.code().await).await;
    let token = response.json()["access_token"].as_str().unwrap().to_owned();
    assert_eq!(
        response.text(),
        format!(
            r#"{{"access_token":"{token}","token_type":"Bearer","expires_in":900,"scope":"profile"}}"#
        )
    );
    assert_eq!(response.status, 200);
    response.has_security_headers();
    assert_eq!(response.header("pragma"), Some("no-cache"));
    let (prefix, rest) = token.split_once('_').unwrap();
    assert_eq!((prefix, rest.len()), ("fsi", 43));
    let profile = broker.profile(&token).await;
    profile.is_json(200, &adas_profile());
    profile.has_security_headers();
}

// Threats: A7.
#[tokio::test]
async fn a_field_of_another_client_leaves_the_code_valid() {
    let broker = TestBroker::start().await;
    let code = broker.code().await;
    let good = || token_body(&code);
    let by_bob = with(
        with(good(), "client_id", "prj_bob"),
        "client_secret",
        BOB_SECRET,
    );
    let by_bob = with(by_bob, "redirect_uri", BOB_CALLBACK);
    for (body, rule) in [
        (by_bob, "code.client"),
        (
            with(good(), "redirect_uri", LOCAL_CALLBACK),
            "code.callback",
        ),
        (with(good(), "code_verifier", key(1)), "code.verifier"),
        (with(good(), "code", key(1)), "code.known"),
    ] {
        broker.post("/v1/token", &body).await.is_refusal(400);
        assert_eq!(broker.last_rule(), Some(rule));
    }
    assert_eq!(broker.token(&code).await.status, 200);
}

// Threats: CVE-2026-33504.
#[tokio::test]
async fn sql_in_a_field_is_only_an_unknown_value() {
    let broker = TestBroker::start().await;
    let code = broker.code().await;
    for text in [
        "' OR '1'='1",
        "' OR 1=1 --",
        "'; DROP TABLE grants; --",
        "x' UNION SELECT 1 --",
        "\" OR \"\"=\"",
        "$1",
        "?1",
        "%",
        "_",
        "\\",
        "\0",
    ] {
        for (field, rule) in [("code", "code.known"), ("client_id", "client.recognised")] {
            let body = with(token_body(&code), field, text);
            let status = if field == "code" { 400 } else { 401 };
            broker.post("/v1/token", &body).await.is_refusal(status);
            assert_eq!(broker.last_rule(), Some(rule), "{text:?}");
        }
    }
    assert_eq!(broker.token(&code).await.status, 200);
}

#[tokio::test]
async fn a_code_lives_60_seconds() {
    let broker = TestBroker::start().await;
    let (early, late) = (broker.code().await, broker.code().await);
    broker.advance_ms(50_000);
    assert_eq!(broker.token(&early).await.status, 200);
    broker.advance_ms(10_000);
    broker.token(&late).await.is_refusal(400);
    assert_eq!(broker.last_rule(), Some("code.expiry"));
}

// Threats: A9.
#[tokio::test]
async fn a_second_valid_redemption_revokes_the_token_of_the_first() {
    let broker = TestBroker::start().await;
    let code = broker.code().await;
    let token = broker.token(&code).await.json()["access_token"].clone();
    let wrong = with(token_body(&code), "code_verifier", key(1));
    broker.post("/v1/token", &wrong).await.is_refusal(400);
    assert_eq!(broker.profile(token.as_str().unwrap()).await.status, 200);
    broker.token(&code).await.is_refusal(400);
    assert_eq!(broker.last_rule(), Some("code.once"));
    broker
        .profile(token.as_str().unwrap())
        .await
        .is_refusal(401);
    assert_eq!(broker.last_rule(), Some("bearer.ended"));
}

// Threats: A22.
#[tokio::test]
async fn a_token_lives_900_seconds() {
    let broker = TestBroker::start().await;
    let token = broker.access_token().await;
    broker.advance_ms(890_000);
    broker.profile(&token).await.is_json(200, &adas_profile());
    broker.advance_ms(10_000);
    let response = broker.profile(&token).await;
    response.is_refusal(401);
    let challenge = r#"Bearer realm="fsi", error="invalid_token""#;
    assert_eq!(response.header("www-authenticate"), Some(challenge));
    assert_eq!(broker.last_rule(), Some("bearer.expiry"));
}

// Threats: A23.
#[tokio::test]
async fn a_revocation_succeeds_whatever_the_token() {
    let broker = TestBroker::start().await;
    let token = broker.access_token().await;
    let unknown = format!("fsi_{}", key(1));
    for token in [&token, &token, &unknown] {
        let response = broker.revoke(token).await;
        response.is_json(200, &json!({}));
        assert_eq!(response.text(), "{}");
        response.has_security_headers();
    }
    broker.profile(&token).await.is_refusal(401);
    assert_eq!(broker.last_rule(), Some("bearer.ended"));
    broker.advance_ms(901_000);
    broker.revoke(&token).await.is_json(200, &json!({}));
}

#[tokio::test]
async fn the_body_of_a_revocation_is_not_read() {
    let broker = TestBroker::start().await;
    for (content_type, body) in [
        ("application/json", "{\"token\":\"other\"}".to_owned()),
        ("application/json", "not json".to_owned()),
        ("application/x-www-form-urlencoded", "token=x".to_owned()),
        ("text/plain", "x".repeat(40_000)),
    ] {
        let token = broker.access_token().await;
        let request = broker
            .request(Method::POST, "/v1/revoke")
            .bearer_auth(&token)
            .header("Content-Type", content_type)
            .body(body);
        request.send().await.is_json(200, &json!({}));
        broker.profile(&token).await.is_refusal(401);
    }
}

#[tokio::test]
async fn one_of_32_redemptions_at_once_gets_a_token() {
    let broker = TestBroker::start().await;
    let code = broker.code().await;
    let responses = all(32, || broker.token(&code)).await;
    let won = responses
        .iter()
        .filter(|response| response.status == 200)
        .count();
    let lost = responses
        .iter()
        .filter(|response| response.status == 400)
        .count();
    assert_eq!((won, lost), (1, 31));
}
