//! The table of malformed requests at three endpoints, seen through the stack's event log.
//! `broker/tests/it/http/malformed_requests.rs` sends it to every endpoint.

use reqwest::Method;
use serde_json::Value;
use testkit::fresh;
use testkit::malformed::{Endpoint, Input, requests};

use crate::login::{GITHUB, GOOGLE};
use crate::test_stack::TestStack;

/// Sends every malformed request to `endpoint`, and compares its rule with the event
/// log's.
async fn refuses(stack: &TestStack, endpoint: &Endpoint) {
    let mut others = Vec::new();
    let mut seen = events(stack, 0).await.last().map_or(0, number);
    for malformed in requests(endpoint) {
        let response = malformed.send(&stack.backend.http).await;
        let events = events(stack, seen).await;
        let id = response.header("x-request-id").expect("a request id");
        let event = events.iter().find(|it| it["request_id"] == id);
        let rule = event.and_then(|it| it["rule"].as_str()).unwrap_or_default();
        if !malformed.may_be_refused_by(rule) {
            others.push(format!("{malformed}: {rule}"));
        }
        seen = events.last().map_or(seen, number);
    }
    assert!(others.is_empty(), "{others:#?}");
}

fn number(event: &Value) -> u64 {
    event["seq"].as_u64().expect("a number")
}

async fn events(stack: &TestStack, after: u64) -> Vec<Value> {
    let path = format!("/api/events?after={after}");
    let events = stack.control(Method::GET, &path, None).await.json();
    events.as_array().expect("a list").clone()
}

fn post(path: &str, body: Value) -> Endpoint {
    Endpoint::new(Method::POST, path, Input::Body(body))
}

// Threats: A1, A18.
#[tokio::test]
async fn a_malformed_session_request_leaves_its_key_unused() {
    let stack = TestStack::start().await;
    let key = fresh::secret();
    let body = stack.backend.session_body(&key, GOOGLE);
    refuses(&stack, &post("/v1/login/session", body)).await;
    assert_eq!(stack.backend.start_with_key(&key, GOOGLE).await.status, 200);
}

// Threats: A20.
#[tokio::test]
async fn a_malformed_bearer_header_reads_and_revokes_nothing() {
    let stack = TestStack::start().await;
    let (transaction, code) = stack.unredeemed_code(GITHUB).await;
    let token = stack.backend.token(&transaction, &code).await;
    for (method, path) in [(Method::GET, "/v1/profile"), (Method::POST, "/v1/revoke")] {
        let bearer = Input::Bearer(token.clone());
        refuses(&stack, &Endpoint::new(method, path, bearer)).await;
    }
    assert_eq!(stack.backend.profile(&token).await.status, 200);
}
