//! testkit's table of malformed requests, played at every endpoint: status, body, the
//! rule in the audit log, and that no request changes anything. And requests that only
//! look malformed.

use crate::malformed::{Endpoint, Input, requests};
use reqwest::Method;

use crate::test_broker::{
    LOCAL_CALLBACK, TestBroker, authorize_query, result_body, session_body, sign_in, token_body,
    with,
};

const GET: Method = Method::GET;
const POST: Method = Method::POST;

/// Plays every malformed request of an endpoint.
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

// Threats: A18, CVE-2020-15233, CVE-2020-15234.
#[tokio::test]
async fn a_malformed_session_request_is_refused_and_leaves_its_key_free() {
    let broker = TestBroker::start().await;
    let local = with(session_body(1), "redirect_uri", LOCAL_CALLBACK);
    for body in [session_body(1), local] {
        let endpoint = Endpoint::new(POST, "/v1/login/session", Input::Body(body));
        refuses_malformed(&broker, &endpoint).await;
    }
    broker.session(1).await;
}

// Threats: A18.
#[tokio::test]
async fn a_malformed_result_request_is_refused_and_consumes_nothing() {
    let broker = TestBroker::start().await;
    sign_in(&broker, 1).await;
    let input = Input::Body(result_body(1));
    refuses_malformed(&broker, &Endpoint::new(POST, "/v1/login/result", input)).await;
    broker.has_status(1, "succeeded").await;
}

// Threats: A18.
#[tokio::test]
async fn a_malformed_token_request_is_refused_and_redeems_nothing() {
    let broker = TestBroker::start().await;
    let code = broker.code().await;
    let input = Input::Body(token_body(&code));
    refuses_malformed(&broker, &Endpoint::new(POST, "/v1/token", input)).await;
    assert_eq!(broker.token(&code).await.status, 200);
}

#[tokio::test]
async fn a_malformed_bearer_request_is_refused_and_revokes_nothing() {
    let broker = TestBroker::start().await;
    let token = broker.access_token().await;
    for (method, path) in [(GET, "/v1/profile"), (POST, "/v1/revoke")] {
        let input = Input::Bearer(token.clone());
        refuses_malformed(&broker, &Endpoint::new(method, path, input)).await;
    }
    assert_eq!(broker.profile(&token).await.status, 200);
}

// Threats: A1, A3, A5.
#[tokio::test]
async fn a_malformed_authorization_request_is_refused_and_redirects_nowhere() {
    let broker = TestBroker::start().await;
    let mut local = authorize_query();
    local[1].1 = LOCAL_CALLBACK.to_owned();
    for query in [authorize_query(), local] {
        let endpoint = Endpoint::new(GET, "/authorize", Input::Query(query));
        refuses_malformed(&broker, &endpoint).await;
    }
}

// Threats: A16, A36, X5.
#[tokio::test]
async fn a_malformed_request_of_a_browser_neither_binds_nor_consumes_a_login() {
    let broker = TestBroker::start().await;
    let path = broker.session(1).await;
    for (method, path) in [
        (GET, path.clone()),
        (POST, format!("{path}/continue")),
        (POST, format!("{path}/cancel")),
    ] {
        refuses_malformed(&broker, &Endpoint::new(method, path, Input::Nothing)).await;
    }
    // No browser is bound.
    let back = broker.browser().to_provider(&path).await;
    let callback = Endpoint::new(GET, back, Input::Nothing);
    refuses_malformed(&broker, &callback.beside(&[POST])).await;
    assert_eq!(broker.calls_upstream().await, 0);
    broker.has_status(1, "pending").await;
}

#[tokio::test]
async fn a_malformed_request_for_a_public_document_is_refused() {
    let broker = TestBroker::start().await;
    let documents = "/api/providers /openapi.json /style.css /question.js /livez /readyz";
    for path in documents.split(' ') {
        refuses_malformed(&broker, &Endpoint::new(GET, path, Input::Nothing)).await;
    }
}

// Threats: A43.
#[tokio::test]
async fn another_parameter_is_ignored_and_another_purpose_is_no_prefetch() {
    let broker = TestBroker::start().await;
    for query in ["Client_Secret=x", "client_secret2=x", "a=client_secret"] {
        let response = broker.get(&format!("/api/providers?{query}")).await;
        assert_eq!(response.status, 200, "{query}");
    }
    for header in [
        ("Sec-Purpose", ""),
        ("Sec-Purpose", "preview"),
        ("Purpose", "navigation;prefetch"),
        ("X-Moz", "prefetched"),
    ] {
        let response = broker.send(GET, "/api/providers", &[header]).await;
        assert_eq!(response.status, 200, "{header:?}");
    }
}
