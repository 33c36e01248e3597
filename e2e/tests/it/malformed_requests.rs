//! The table of malformed requests, at every endpoint of the stack's broker.

use reqwest::Method;
use serde_json::Value;
use testkit::fresh;
use testkit::malformed::{Endpoint, Input, requests};

use crate::login::{Flow, GITHUB, GOOGLE};
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

#[tokio::test]
async fn a_malformed_session_request_leaves_its_key_unused() {
    let stack = TestStack::start().await;
    let key = fresh::secret();
    let body = stack.backend.session_body(&key, GOOGLE);
    refuses(&stack, &post("/v1/login/session", body)).await;
    assert_eq!(stack.backend.start_with_key(&key, GOOGLE).await.status, 200);
}

#[tokio::test]
async fn a_malformed_result_request_does_not_consume_the_result() {
    let stack = TestStack::start().await;
    let login = stack.completed_login(GITHUB).await;
    let body = stack.backend.result_body(&login.session_key);
    refuses(&stack, &post("/v1/login/result", body)).await;
    let result = stack.backend.result(&login.session_key).await.json();
    assert_eq!(result["status"], "succeeded");
}

#[tokio::test]
async fn a_malformed_token_request_does_not_redeem_the_code() {
    let stack = TestStack::start().await;
    let (transaction, code) = stack.unredeemed_code(GITHUB).await;
    let body = stack.backend.token_body(&transaction.verifier, &code);
    refuses(&stack, &post("/v1/token", body)).await;
    stack.backend.token(&transaction, &code).await;
}

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

#[tokio::test]
async fn a_malformed_authorization_request_redirects_no_browser() {
    let stack = TestStack::start().await;
    stack.other_project("Another app").await;
    let (client, callback) = (&stack.backend.client_id, &stack.backend.callback);
    let parameters = vec![
        ("client_id", client.clone()),
        ("redirect_uri", callback.clone()),
        ("provider", GOOGLE.to_owned()),
        ("state", fresh::secret()),
        ("code_challenge", fresh::challenge(&fresh::secret())),
        ("code_challenge_method", "S256".to_owned()),
    ];
    let input = Input::Query(parameters);
    refuses(&stack, &Endpoint::new(Method::GET, "/authorize", input)).await;
}

#[tokio::test]
async fn a_malformed_visit_leaves_the_login_to_its_browser() {
    let stack = TestStack::start().await;
    let halfway = stack.halfway(Flow::Clean, GOOGLE).await;
    let login = stack.backend.start_login(GOOGLE).await;
    let path = login.authorization_url.strip_prefix(stack.broker());
    let visit = path.expect("it is the broker's").to_owned();
    for (method, path) in [
        (Method::GET, visit.clone()),
        (Method::POST, format!("{visit}/continue")),
        (Method::POST, format!("{visit}/cancel")),
        (Method::GET, "/callback/google".to_owned()),
        (Method::GET, "/return".to_owned()),
        (Method::GET, "/api/providers".to_owned()),
        (Method::GET, "/openapi.json".to_owned()),
    ] {
        refuses(&stack, &Endpoint::new(method, path, Input::Nothing)).await;
    }
    halfway.finish(&stack.backend).await.is_ada(GOOGLE);
    let browser = testkit::browser::Browser::new();
    let end = browser.follow(&login.authorization_url).await;
    assert_eq!(end.url, stack.backend.callback);
}

/// Well formed, and no project's.
#[tokio::test]
async fn a_value_at_its_limit_is_not_malformed() {
    let stack = TestStack::start().await;
    let backend = &stack.backend;
    for (path, body) in [
        (
            "/v1/login/session",
            backend.session_body(&fresh::secret(), GOOGLE),
        ),
        (
            "/v1/token",
            backend.token_body(&fresh::secret(), &fresh::secret()),
        ),
    ] {
        for (field, value) in [
            ("client_id", "x".repeat(100)),
            ("client_id", "é".repeat(100)),
            ("client_secret", "x".repeat(200)),
            ("client_secret", "x".to_owned()),
        ] {
            let mut body = body.clone();
            body[field] = value.into();
            backend.post(path, &body).await.is_refusal(401);
        }
    }
}
