//! Client credentials: an unknown client and a wrong secret get the same response.

use reqwest::Method;
use serde_json::Value;
use testkit::http::Response;

use crate::test_broker::{
    ADA_SECRET, BOB_SECRET, TestBroker, result_body, session_body, sign_in, token_body, with,
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

// Threats: A12.
#[tokio::test]
async fn all_wrong_credentials_get_one_refusal_at_each_endpoint_and_consume_nothing() {
    let broker = TestBroker::start().await;
    sign_in(&broker, 1).await;
    let code = broker.code().await;
    // No client library knows the scheme.
    let challenge = Some(r#"client_secret_post realm="fsi""#);
    for (path, good, status, challenge) in [
        ("/v1/login/session", session_body(2), 401, challenge),
        ("/v1/login/result", result_body(1), 400, None),
        ("/v1/token", token_body(&code), 401, challenge),
    ] {
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
            let body = with(good.clone(), "client_id", client_id);
            let body = with(body, "client_secret", secret);
            let response = broker.post(path, &body).await;
            broker.has_refused(&response, status, "client.recognised");
            assert_eq!(response.header("www-authenticate"), challenge);
            responses.push(comparable(&response));
        }
        responses.dedup();
        assert_eq!(responses.len(), 1, "{responses:#?}");
    }
    broker.session(2).await;
    broker.has_status(1, "succeeded").await;
    assert_eq!(broker.token(&code).await.status, 200);
}

#[tokio::test]
async fn an_empty_client_id_is_unknown_at_the_token_and_malformed_elsewhere() {
    let broker = TestBroker::start().await;
    for (path, body, status, rule) in [
        ("/v1/token", token_body("code"), 401, "client.recognised"),
        (
            "/v1/login/session",
            session_body(1),
            400,
            "client_id.length",
        ),
    ] {
        let body = with(body, "client_id", "");
        broker.refuses(path, &body, status, rule).await;
    }
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
