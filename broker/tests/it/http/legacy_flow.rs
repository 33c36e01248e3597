//! The legacy flow: the parameters of `GET /authorize`, and where each error is reported;
//! and odd requests at `/v1/token` and `/v1/revoke`. The exploration of `consistency` has the
//! answers to a login in each of its states.

use reqwest::Method;
use serde_json::json;
use testkit::malformed;

use crate::test_broker::{
    BOB_CALLBACK, CALLBACK, LOCAL_CALLBACK, TestBroker, authorize_path, authorize_query,
    authorize_with, key, parameter, query_with, state, token_body, with,
};

type Query = Vec<(&'static str, String)>;

/// A valid query with one more parameter.
fn with_more(name: &'static str, value: &str) -> Query {
    let mut query = authorize_query();
    query.push((name, value.to_owned()));
    query
}

/// Asserts that the error is reported at the callback, with this rule and state.
async fn is_error_at_callback(broker: &TestBroker, query: &Query, rule: &str, echo: Option<&str>) {
    let response = broker.browser().get(&authorize_with(query)).await;
    let echo = echo.map_or(String::new(), |state| format!("&state={state}"));
    assert_eq!(broker.last_rule(), Some(rule), "{query:?}");
    response.redirects_to(&format!("{CALLBACK}?error=invalid_request{echo}#"));
    assert_eq!(response.set_cookies(), Vec::<String>::new());
}

/// Asserts that the browser is sent to the provider, and returns the URL.
async fn is_accepted(broker: &TestBroker, path: &str) -> String {
    let redirect = broker.browser().get(path).await;
    assert_eq!((redirect.status, redirect.text()), (303, ""));
    let url = redirect.location().unwrap();
    let start = format!("{}/login/oauth/authorize?", broker.github.url());
    assert!(url.starts_with(&start), "{url}");
    assert!(url.ends_with('#'), "it removes the browser's fragment");
    url.to_owned()
}

#[tokio::test]
async fn a_valid_request_redirects_to_the_provider() {
    let broker = TestBroker::start().await;
    let url = is_accepted(&broker, &authorize_path()).await;
    for (name, value) in [
        ("client_id", "us-at-github"),
        ("redirect_uri", "http://127.0.0.1:8000/callback/github"),
    ] {
        assert_eq!(parameter(&url, name).as_deref(), Some(value), "{name}");
    }
    // The consumer's state and challenge stay at the broker.
    assert!(!url.contains(&state()));
    assert!(!url.contains(&authorize_query()[4].1));
}

// Threats: A1, A3, A5.
#[tokio::test]
async fn an_unknown_or_repeated_client_or_callback_is_refused_on_a_page() {
    let broker = TestBroker::start().await;
    let (client, callback) = ("authorize.client", "redirect_uri.registered");
    let long = "x".repeat(101);
    let mut rows = vec![
        (query_with("client_id", None), client),
        (query_with("redirect_uri", None), callback),
        (query_with("redirect_uri", Some(BOB_CALLBACK)), callback),
    ];
    for other in ["", "prj_nobody", "PRJ_ADA", &long] {
        rows.push((query_with("client_id", Some(other)), client));
    }
    for miss in [CALLBACK, LOCAL_CALLBACK]
        .into_iter()
        .flat_map(malformed::callbacks)
    {
        rows.push((query_with("redirect_uri", Some(&miss)), callback));
    }
    for (name, second) in [
        ("client_id", ""),
        ("client_id", "prj_ada"),
        ("client_id", "prj_bob"),
        ("redirect_uri", CALLBACK),
        ("redirect_uri", LOCAL_CALLBACK),
        ("redirect_uri", "https://evil.example/"),
    ] {
        rows.push((with_more(name, second), "authorize.once"));
    }
    let mut rows: Vec<_> = rows
        .iter()
        .map(|(query, rule)| (authorize_with(query), *rule))
        .collect();
    for query in ["", "client_id", "%", "redirect_uri=https://evil.example/"] {
        rows.push((format!("/authorize?{query}"), client));
    }
    for (path, rule) in rows {
        let page = broker.browser().get(&path).await;
        page.is_refusal_page(400, rule);
    }
}

// Threats: A6.
#[tokio::test]
async fn any_other_invalid_parameter_is_an_error_at_the_callback_with_the_state() {
    let broker = TestBroker::start().await;
    // A verifier, but no challenge. The contract's own tests have the other wrong values.
    let long = "a".repeat(44);
    let rows: [(&'static str, &str, &[&str]); 4] = [
        ("provider", "provider.known", &["", "gitlab"]),
        ("code_challenge", "code_challenge.pattern", &["", &long]),
        (
            "code_challenge_method",
            "authorize.challenge_method",
            &["", "plain", "s256", "S512", "S256 "],
        ),
        (
            "response_type",
            "authorize.response_type",
            &["token", "id_token", "code token", "Code"],
        ),
    ];
    let state = state();
    for (name, rule, values) in rows {
        let absent = (name != "response_type").then_some(None);
        for value in absent.into_iter().chain(values.iter().copied().map(Some)) {
            is_error_at_callback(&broker, &query_with(name, value), rule, Some(&state)).await;
        }
    }
    // Google is not asked: it cannot be reached, and the error would be another one.
    let mut query = query_with("code_challenge", Some("short"));
    query[2].1 = "google".to_owned();
    is_error_at_callback(&broker, &query, "code_challenge.pattern", Some(&state)).await;
}

// Threats: A5.
#[tokio::test]
async fn any_other_repeated_parameter_is_an_error_at_the_callback_with_the_state() {
    let broker = TestBroker::start().await;
    let (once, state) = ("authorize.once", state());
    let mut twice = with_more("response_type", "code");
    twice.push(("response_type", "code".to_owned()));
    is_error_at_callback(&broker, &twice, once, Some(&state)).await;
    for (name, value) in authorize_query().split_off(2) {
        // A repeated state is not echoed.
        let echo = (name != "state").then_some(&*state);
        is_error_at_callback(&broker, &with_more(name, &value), once, echo).await;
    }
    is_error_at_callback(&broker, &with_more("state", ""), once, None).await;
}

// Threats: A5.
#[tokio::test]
async fn a_response_type_of_code_or_nothing_and_unknown_parameters_are_accepted() {
    let broker = TestBroker::start().await;
    let valid = authorize_path();
    for more in [
        "response_type=",
        "response_type=code&scope=profile&nonce=x&prompt=none",
        "next=https://evil.test/&foo=1&foo=2",
    ] {
        let url = is_accepted(&broker, &format!("{valid}&{more}")).await;
        assert!(!url.contains("evil"), "{url}");
    }
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

// Threats: A23.
#[tokio::test]
async fn a_token_that_was_never_issued_is_revoked_like_any_other() {
    let broker = TestBroker::start().await;
    let unknown = format!("fsi_{}", key(1));
    broker.revoke(&unknown).await.is(200, "{}");
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
