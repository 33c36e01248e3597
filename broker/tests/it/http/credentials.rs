//! Bearer tokens, accepted in one well-formed `Authorization` header and nowhere else. And
//! client credentials: an unknown client and a wrong secret get the same response.

use reqwest::Method;
use serde_json::{Value, json};
use testkit::http::Response;

use crate::test_broker::{
    ADA_SECRET, BOB_SECRET, TestBroker, adas_profile, key, result_body, session_body, state,
    token_body, with,
};

const WITHOUT_ERROR: &str = r#"Bearer realm="fsi""#;
const INVALID: &str = r#"Bearer realm="fsi", error="invalid_token""#;
const TWICE: &str = r#"Bearer realm="fsi", error="invalid_request""#;

const PATHS: [(Method, &str); 2] = [(Method::GET, "/v1/profile"), (Method::POST, "/v1/revoke")];

/// Headers of the scheme `Bearer` without one well-formed token, made of a token.
const MALFORMED: &str = "Bearer|Bearer |Bearer x|Bearer\t{token}|Bearer {token}x|Bearer {token},|\
    Bearer {token} {token}|Bearer {token}, Bearer {token}|Bearer \"{token}\"|Bearer: {token}|\
    Bearer={token}|Bearer {shorter}|Bearer {upper}|Bearer {bare}|Bearer gho_{bare}";

/// Headers of another scheme than `Bearer`, or of none.
const OTHER_SCHEMES: &str = "Basic cHJqX2FkYTpzZWNyZXQ=|Basic {token}|Token {token}|DPoP {token}|\
    Bearer{token}|Bearer-x {token}|{token}|";

/// The headers of such a list, made of this token.
fn made_of(list: &str, token: &str) -> Vec<String> {
    let bare = token.strip_prefix("fsi_").unwrap();
    let filled = list
        .replace("{token}", token)
        .replace("{shorter}", &token[..token.len() - 1])
        .replace("{upper}", &token.to_uppercase())
        .replace("{bare}", bare);
    filled.split('|').map(str::to_owned).collect()
}

/// Asserts that both operations refuse a request with these headers, with this challenge.
async fn are_challenged(
    broker: &TestBroker,
    headers: &[(&str, &str)],
    status: u16,
    challenge: &str,
) {
    let rule = if status == 400 {
        "bearer.once"
    } else {
        "bearer.shape"
    };
    for (method, path) in PATHS {
        let response = broker.send(method, path, headers).await;
        broker.has_refused(&response, status, rule);
        let sent = response.header("www-authenticate");
        assert_eq!(sent, Some(challenge), "{path}: {headers:?}");
    }
}

/// Asserts that a token of the broker still opens the profile.
async fn is_not_revoked(broker: &TestBroker, token: &str) {
    let profile = broker.profile(token).await;
    profile.is_json(200, &adas_profile());
}

// Threats: A20, A21, A44.
#[tokio::test]
async fn the_challenge_has_an_error_if_a_bearer_token_was_sent() {
    let broker = TestBroker::start().await;
    let token = &*broker.access_token().await;
    are_challenged(&broker, &[], 401, WITHOUT_ERROR).await;
    for other in made_of(OTHER_SCHEMES, token) {
        are_challenged(&broker, &[("Authorization", &*other)], 401, WITHOUT_ERROR).await;
    }
    for malformed in made_of(MALFORMED, token) {
        are_challenged(&broker, &[("Authorization", &*malformed)], 401, INVALID).await;
    }
    let bearer = &*format!("Bearer {token}");
    for other in [bearer, "Basic cHJqX2FkYTpzZWNyZXQ="] {
        let two = [("Authorization", bearer), ("Authorization", other)];
        are_challenged(&broker, &two, 400, TWICE).await;
    }
    is_not_revoked(&broker, token).await;
    broker.advance_ms(900_000);
    has_invalid_token(&broker.profile(token).await);
}

#[track_caller]
fn has_invalid_token(response: &Response) {
    response.is_refusal(401);
    assert_eq!(response.header("www-authenticate"), Some(INVALID));
}

// Threats: A24.
#[tokio::test]
async fn only_an_access_token_is_a_bearer_token() {
    let broker = TestBroker::start().await;
    let code = broker.code().await;
    let path = broker.session(1).await;
    let handle = path.rsplit('/').next().unwrap();
    for other in [&*code, &key(1), ADA_SECRET, &state(), handle] {
        let bearer = format!("Bearer {other}");
        are_challenged(&broker, &[("Authorization", &*bearer)], 401, INVALID).await;
        // In the form of a token it is one that was never issued.
        has_invalid_token(&broker.profile(&format!("fsi_{other}")).await);
    }
}

// Threats: A20.
#[tokio::test]
async fn the_scheme_is_compared_without_case() {
    let broker = TestBroker::start().await;
    let token = broker.access_token().await;
    for scheme in ["Bearer", "bearer", "bEaReR", "Bearer  "] {
        let header = [("Authorization", format!("{scheme} {token}"))];
        let response = broker.send(Method::GET, "/v1/profile", &header).await;
        response.is_json(200, &adas_profile());
    }
}

// Threats: A20, A43, CVE-2025-54576, CVE-2026-34457.
#[tokio::test]
async fn no_body_user_agent_cookie_or_query_replaces_a_token() {
    let broker = TestBroker::start().await;
    let token = broker.access_token().await;
    for (name, value) in [
        ("User-Agent", "kube-probe/1.31"),
        ("User-Agent", "GoogleHC/1.0"),
        ("Cookie", &*format!("access_token={token}")),
        ("Cookie", &*format!("Authorization=Bearer {token}")),
        ("Cookie", "admin=true"),
    ] {
        are_challenged(&broker, &[(name, value)], 401, WITHOUT_ERROR).await;
    }
    let query = &*format!("access_token={token}");
    for query in [query, "path=/livez", "x=%23/livez", "/livez"] {
        for (method, path) in PATHS {
            let request = broker.request(method, &format!("{path}?{query}"));
            request.send().await.is_refusal(401);
        }
    }
    let body = json!({ "access_token": token, "token": token });
    broker.post("/v1/revoke", &body).await.is_refusal(401);
    let form = broker.request(Method::POST, "/v1/revoke");
    let form = form.form(&[("access_token", &token)]);
    form.send().await.is_refusal(401);
    is_not_revoked(&broker, &token).await;
}

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
    broker.sign_in(1).await;
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
