//! testkit's table of malformed requests, played at every endpoint: status, body, the
//! rule in the audit log, and that no request changes anything.

use reqwest::Method;
use testkit::malformed::{Endpoint, Input, requests};

use crate::test_broker::{
    LOCAL_CALLBACK, TestBroker, authorize_query, back_path, result_body, session_body, sign_in,
    token_body, with,
};

/// Plays every malformed request of an endpoint.
async fn refuses_malformed_requests(
    broker: &TestBroker,
    method: Method,
    path: impl Into<String>,
    input: Input,
) {
    refuses_malformed(broker, &Endpoint::new(method, path, input)).await;
}

async fn refuses_malformed(broker: &TestBroker, endpoint: &Endpoint) {
    for malformed in requests(endpoint) {
        let response = malformed.send(broker.http()).await;
        let event = broker.events().pop().unwrap();
        let rule = event.rule.map_or("no rule", contract::Rule::id);
        assert!(malformed.may_be_refused_by(rule), "{malformed}: {rule}");
        let id = response.header("x-request-id");
        assert_eq!(id, Some(&*event.request_id), "{malformed}");
        assert!(!event.committed(), "{malformed}");
    }
}

// Threats: A18.
#[tokio::test]
async fn a_malformed_session_request_is_refused_and_leaves_its_key_free() {
    let broker = TestBroker::start().await;
    let local = with(session_body(1), "redirect_uri", LOCAL_CALLBACK);
    for body in [session_body(1), local] {
        let path = "/v1/login/session";
        refuses_malformed_requests(&broker, Method::POST, path, Input::Body(body)).await;
    }
    broker.session(1).await;
}

// Threats: A18.
#[tokio::test]
async fn a_malformed_result_request_is_refused_and_consumes_nothing() {
    let broker = TestBroker::start().await;
    sign_in(&broker, 1).await;
    let input = Input::Body(result_body(1));
    refuses_malformed_requests(&broker, Method::POST, "/v1/login/result", input).await;
    assert_eq!(broker.result(1).await.json()["status"], "succeeded");
}

// Threats: A18.
#[tokio::test]
async fn a_malformed_token_request_is_refused_and_redeems_nothing() {
    let broker = TestBroker::start().await;
    let code = broker.code().await;
    let input = Input::Body(token_body(&code));
    refuses_malformed_requests(&broker, Method::POST, "/v1/token", input).await;
    assert_eq!(broker.token(&code).await.status, 200);
}

#[tokio::test]
async fn a_malformed_bearer_request_is_refused_and_revokes_nothing() {
    let broker = TestBroker::start().await;
    let token = broker.access_token().await;
    for (method, path) in [(Method::GET, "/v1/profile"), (Method::POST, "/v1/revoke")] {
        let input = Input::Bearer(token.clone());
        refuses_malformed_requests(&broker, method, path, input).await;
    }
    assert_eq!(broker.profile(&token).await.status, 200);
}

// Threats: A1, A3.
#[tokio::test]
async fn a_malformed_authorization_request_is_refused_and_redirects_nowhere() {
    let broker = TestBroker::start().await;
    let mut local = authorize_query();
    local[1].1 = LOCAL_CALLBACK.to_owned();
    for query in [authorize_query(), local] {
        let input = Input::Query(query);
        refuses_malformed_requests(&broker, Method::GET, "/authorize", input).await;
    }
}

// Threats: A16.
#[tokio::test]
async fn a_malformed_request_of_a_browser_neither_binds_nor_consumes_a_login() {
    let broker = TestBroker::start().await;
    let path = broker.session(1).await;
    for (method, path) in [
        (Method::GET, path.clone()),
        (Method::POST, format!("{path}/continue")),
        (Method::POST, format!("{path}/cancel")),
    ] {
        refuses_malformed_requests(&broker, method, path, Input::Nothing).await;
    }
    let browser = broker.browser();
    let redirect = browser.get(&path).await;
    assert_eq!(redirect.status, 303, "no browser is bound");
    let back = back_path(&redirect, "code=upstream-code");
    let callback = Endpoint::new(Method::GET, back, Input::Nothing);
    refuses_malformed(&broker, &callback.beside(&[Method::POST])).await;
    assert_eq!(broker.calls_upstream().await, 0);
    assert_eq!(broker.result(1).await.json()["status"], "pending");
}

#[tokio::test]
async fn a_malformed_request_for_a_public_document_is_refused() {
    let broker = TestBroker::start().await;
    for path in [
        "/api/providers",
        "/openapi.json",
        "/style.css",
        "/question.js",
        "/livez",
        "/readyz",
    ] {
        refuses_malformed_requests(&broker, Method::GET, path, Input::Nothing).await;
    }
}
