//! Client credentials: an unknown client and a wrong secret get the same response.

use reqwest::Method;
use serde_json::{Value, json};
use testkit::http::Response;

use crate::test_broker::{
    ADA_SECRET, BOB_CALLBACK, BOB_SECRET, TestBroker, result_body, session_body, sign_in,
    token_body, with,
};

/// Status, body and headers except for those that differ in every response.
fn comparable(response: &Response) -> (u16, String, Vec<(String, String)>) {
    let mut headers: Vec<_> = response
        .headers
        .iter()
        .filter(|(name, _)| !["x-request-id", "date"].contains(&name.as_str()))
        .map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned()))
        .collect();
    headers.sort();
    (response.status, response.text().to_owned(), headers)
}

/// Asserts that all wrong credentials get the same refusal at one endpoint.
async fn refuses_wrong_credentials(broker: &TestBroker, path: &str, good: Value, status: u16) {
    let mut responses = Vec::new();
    for (client_id, secret) in [
        ("prj_nobody", ADA_SECRET),
        ("prj_ada", "wrong"),
        ("prj_ada", BOB_SECRET),
        ("prj_bob", ADA_SECRET),
        ("prj_ad", ADA_SECRET),
        ("prj_ada ", ADA_SECRET),
        ("PRJ_ADA", ADA_SECRET),
        ("prj_ada", &ADA_SECRET.to_lowercase()),
        ("prj_ada", &ADA_SECRET[1..]),
        ("prj_ada", &format!("{ADA_SECRET} ")),
    ] {
        let body = with(
            with(good.clone(), "client_id", client_id),
            "client_secret",
            secret,
        );
        let response = broker.post(path, &body).await;
        response.is_refusal(status);
        assert_eq!(broker.last_rule(), Some("client.recognised"));
        responses.push(comparable(&response));
    }
    responses.dedup();
    assert_eq!(responses.len(), 1, "{responses:#?}");
}

// Threats: A12.
#[tokio::test]
async fn wrong_credentials_get_401_at_the_session_and_use_no_key() {
    let broker = TestBroker::start().await;
    refuses_wrong_credentials(&broker, "/v1/login/session", session_body(1), 401).await;
    broker.session(1).await;
}

// Threats: A12.
#[tokio::test]
async fn wrong_credentials_get_400_at_the_result_and_consume_nothing() {
    let broker = TestBroker::start().await;
    sign_in(&broker, 1).await;
    refuses_wrong_credentials(&broker, "/v1/login/result", result_body(1), 400).await;
    assert_eq!(broker.result(1).await.json()["status"], "succeeded");
}

// Threats: A12.
#[tokio::test]
async fn wrong_credentials_get_401_at_the_token_and_redeem_nothing() {
    let broker = TestBroker::start().await;
    let code = broker.code().await;
    refuses_wrong_credentials(&broker, "/v1/token", token_body(&code), 401).await;
    assert_eq!(broker.token(&code).await.status, 200);
}

#[tokio::test]
async fn an_empty_client_id_is_unknown_at_the_token_and_malformed_elsewhere() {
    let broker = TestBroker::start().await;
    let token = with(token_body("code"), "client_id", "");
    broker.post("/v1/token", &token).await.is_refusal(401);
    let session = with(session_body(1), "client_id", "");
    broker
        .post("/v1/login/session", &session)
        .await
        .is_refusal(400);
    assert_eq!(broker.last_rule(), Some("client_id.length"));
}

#[tokio::test]
async fn wrong_credentials_are_challenged_by_no_scheme_that_a_client_knows() {
    let broker = TestBroker::start().await;
    let body = with(session_body(1), "client_secret", "wrong");
    let response = broker.post("/v1/login/session", &body).await;
    let challenge = r#"client_secret_post realm="fsi""#;
    assert_eq!(response.header("www-authenticate"), Some(challenge));
}

// Threats: A19.
#[tokio::test]
async fn basic_credentials_are_ignored() {
    let broker = TestBroker::start().await;
    let code = broker.code().await;
    let mut bare = token_body(&code);
    bare.as_object_mut().unwrap().remove("client_id");
    bare.as_object_mut().unwrap().remove("client_secret");
    let basic = |body: &Value, secret: &str| {
        broker
            .request(Method::POST, "/v1/token")
            .basic_auth("prj_ada", Some(secret))
            .json(body)
    };
    basic(&bare, ADA_SECRET).send().await.is_refusal(400);
    assert_eq!(broker.last_rule(), Some("body.missing_field"));
    // Beside valid credentials in the body the header is ignored.
    let response = basic(&token_body(&code), "wrong").send().await;
    assert_eq!(response.status, 200, "{response:?}");
}

// Threats: A1.
#[tokio::test]
async fn another_projects_callback_is_not_registered() {
    let broker = TestBroker::start().await;
    let body = with(session_body(1), "redirect_uri", BOB_CALLBACK);
    broker
        .post("/v1/login/session", &body)
        .await
        .is_refusal(400);
    assert_eq!(broker.last_rule(), Some("redirect_uri.registered"));
    let body = json!({
        "client_id": "prj_bob", "client_secret": BOB_SECRET, "session_key": session_body(1)["session_key"],
        "provider": "github", "redirect_uri": BOB_CALLBACK,
    });
    broker.session_with(&body).await;
}
