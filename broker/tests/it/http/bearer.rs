//! Bearer tokens: accepted in one well-formed `Authorization` header and nowhere else.

use reqwest::Method;
use serde_json::json;
use testkit::http::{Request, Response};
use testkit::malformed::{malformed_bearers, other_schemes};

use crate::test_broker::{ADA_SECRET, TestBroker, adas_profile, key, state};

const WITHOUT_ERROR: &str = r#"Bearer realm="fsi""#;
const INVALID: &str = r#"Bearer realm="fsi", error="invalid_token""#;

const PATHS: [(Method, &str); 2] = [(Method::GET, "/v1/profile"), (Method::POST, "/v1/revoke")];

async fn are_challenged(broker: &TestBroker, change: impl Fn(Request) -> Request, challenge: &str) {
    for (method, path) in PATHS {
        let response = change(broker.request(method, path)).send().await;
        is_challenged(&response, challenge);
    }
}

#[track_caller]
fn is_challenged(response: &Response, challenge: &str) {
    response.is_refusal(401);
    assert_eq!(response.header("www-authenticate"), Some(challenge));
}

// Threats: A21.
#[tokio::test]
async fn a_request_without_a_token_is_challenged_without_an_error() {
    let broker = TestBroker::start().await;
    are_challenged(&broker, |request| request, WITHOUT_ERROR).await;
}

// Threats: A21.
#[tokio::test]
async fn a_malformed_bearer_header_is_an_invalid_token() {
    let broker = TestBroker::start().await;
    let token = broker.access_token().await;
    for header in malformed_bearers(&token) {
        let change = |request: Request| request.header("Authorization", &header);
        are_challenged(&broker, change, INVALID).await;
    }
    assert_eq!(broker.profile(&token).await.status, 200, "none was revoked");
}

#[tokio::test]
async fn credentials_of_another_scheme_are_challenged_without_an_error() {
    let broker = TestBroker::start().await;
    let token = broker.access_token().await;
    for header in other_schemes(&token) {
        let change = |request: Request| request.header("Authorization", &header);
        are_challenged(&broker, change, WITHOUT_ERROR).await;
    }
    assert_eq!(broker.profile(&token).await.status, 200, "none was revoked");
}

// Threats: A24.
#[tokio::test]
async fn only_an_access_token_is_a_bearer_token() {
    let broker = TestBroker::start().await;
    let code = broker.code().await;
    let handle = broker.session(1).await;
    for other in [
        &code,
        &key(1),
        ADA_SECRET,
        &state(),
        handle.rsplit('/').next().unwrap(),
    ] {
        let change = |request: Request| request.bearer_auth(other);
        are_challenged(&broker, change, INVALID).await;
        // In the form of a token it is one that was never issued.
        let response = broker.profile(&format!("fsi_{other}")).await;
        is_challenged(&response, INVALID);
    }
}

// Threats: A20.
#[tokio::test]
async fn the_scheme_is_compared_without_case() {
    let broker = TestBroker::start().await;
    let token = broker.access_token().await;
    for scheme in ["Bearer", "bearer", "BEARER", "bEaReR", "Bearer  "] {
        let request = broker
            .request(Method::GET, "/v1/profile")
            .header("Authorization", format!("{scheme} {token}"));
        request.send().await.is_json(200, &adas_profile());
    }
}

// Threats: A20.
#[tokio::test]
async fn a_token_in_the_query_or_the_body_is_ignored() {
    let broker = TestBroker::start().await;
    let token = broker.access_token().await;
    let path = format!("/v1/profile?access_token={token}");
    broker.get(&path).await.is_refusal(401);
    let body = json!({ "access_token": token, "token": token });
    broker.post("/v1/revoke", &body).await.is_refusal(401);
    let form = broker
        .request(Method::POST, "/v1/revoke")
        .form(&[("access_token", &token)]);
    form.send().await.is_refusal(401);
    assert_eq!(broker.profile(&token).await.status, 200);
}

// Threats: A43, CVE-2025-54576, CVE-2026-34457.
#[tokio::test]
async fn no_user_agent_cookie_or_query_replaces_a_token() {
    let broker = TestBroker::start().await;
    let token = broker.access_token().await;
    for agent in ["kube-probe/1.31", "GoogleHC/1.0", "ELB-HealthChecker/2.0"] {
        let change = |request: Request| request.header("User-Agent", agent);
        are_challenged(&broker, change, WITHOUT_ERROR).await;
    }
    for cookie in [
        format!("access_token={token}"),
        format!("Authorization=Bearer {token}"),
        "admin=true".to_owned(),
    ] {
        let change = |request: Request| request.header("Cookie", &cookie);
        are_challenged(&broker, change, WITHOUT_ERROR).await;
    }
    for query in ["path=/livez", "next=/readyz", "x=%23/livez", "/livez"] {
        for (method, path) in PATHS {
            let request = broker.request(method, &format!("{path}?{query}"));
            is_challenged(&request.send().await, WITHOUT_ERROR);
        }
    }
    assert_eq!(broker.profile(&token).await.status, 200, "none was revoked");
}

#[tokio::test]
async fn an_unknown_token_is_an_invalid_token() {
    let broker = TestBroker::start().await;
    let response = broker.profile(&format!("fsi_{}", key(1))).await;
    response.is_refusal(401);
    assert_eq!(response.header("www-authenticate"), Some(INVALID));
    assert_eq!(broker.last_rule(), Some("bearer.known"));
}

// Threats: A20, A44.
#[tokio::test]
async fn two_authorization_headers_are_a_request_that_is_invalid() {
    let broker = TestBroker::start().await;
    let token = broker.access_token().await;
    for (method, path) in PATHS {
        let basic = "Basic cHJqX2FkYTpzZWNyZXQ=".to_owned();
        for other in [format!("Bearer {token}"), basic] {
            let request = broker.request(method.clone(), path).bearer_auth(&token);
            let response = request.header("Authorization", other).send().await;
            response.is_refusal(400);
            let challenge = r#"Bearer realm="fsi", error="invalid_request""#;
            assert_eq!(response.header("www-authenticate"), Some(challenge));
        }
    }
    assert_eq!(broker.profile(&token).await.status, 200, "none was revoked");
}
