//! Malformed bodies, played at each endpoint that reads one, and preconditions in every
//! spelling: status, the rule in the audit log, and that no request changes anything. And
//! requests that only look malformed. The contract's own tests have the fields of a body
//! with every value that is malformed.

mod bodies;

use reqwest::Method;
use serde_json::Value;
use testkit::http::Request;

use crate::test_broker::{
    CALLBACK, LOCAL_CALLBACK, TestBroker, result_body, session_body, sign_in, token_body, with,
};

const GET: Method = Method::GET;
const POST: Method = Method::POST;

/// Asserts that a request is refused by one of these rules and changes nothing.
async fn is_refused(
    broker: &TestBroker,
    request: Request,
    status: u16,
    rules: &[&str],
    flaw: &str,
) {
    let response = request.send().await;
    assert_eq!(response.status, status, "{flaw}: {response:?}");
    response.is_refusal(status);
    let event = broker.events().pop().unwrap();
    let rule = event.rule.map_or("no rule", contract::Rule::id);
    assert!(rules.contains(&rule), "{flaw}: {rule}");
    assert!(!event.committed(), "{flaw}");
}

/// Posts every malformed variant of a body that `path` accepts.
async fn refuses_malformed(broker: &TestBroker, path: &str, good: &Value) {
    for malformed in bodies::malformed(good) {
        let mut request = broker.request(POST, path);
        for (name, value) in &malformed.headers {
            request = request.header(name, value);
        }
        let start = &malformed.body[..malformed.body.len().min(200)];
        let flaw = format!("{:?} {}", malformed.headers, start.escape_ascii());
        let request = request.body(malformed.body);
        is_refused(broker, request, malformed.status, malformed.rules, &flaw).await;
    }
}

// Threats: A18, CVE-2020-15233, CVE-2020-15234.
#[tokio::test]
async fn a_malformed_session_request_is_refused_and_leaves_its_key_free() {
    let broker = TestBroker::start().await;
    for callback in [CALLBACK, LOCAL_CALLBACK] {
        let body = with(session_body(1), "redirect_uri", callback);
        refuses_malformed(&broker, "/v1/login/session", &body).await;
    }
    broker.session(1).await;
}

// Threats: A18.
#[tokio::test]
async fn a_malformed_result_request_is_refused_and_consumes_nothing() {
    let broker = TestBroker::start().await;
    sign_in(&broker, 1).await;
    refuses_malformed(&broker, "/v1/login/result", &result_body(1)).await;
    broker.has_status(1, "succeeded").await;
}

// Threats: A18.
#[tokio::test]
async fn a_malformed_token_request_is_refused_and_redeems_nothing() {
    let broker = TestBroker::start().await;
    let code = broker.code().await;
    refuses_malformed(&broker, "/v1/token", &token_body(&code)).await;
    assert_eq!(broker.token(&code).await.status, 200);
}

/// Queries with a secret, each with the rule that forbids it.
const SECRETS: [(&str, &str); 8] = [
    ("client_secret=x", "request.secret_in_url"),
    ("client_secret=", "request.secret_in_url"),
    ("client_secret", "request.secret_in_url"),
    ("client%5Fsecret=x", "request.secret_in_url"),
    ("%63lient_secret=x", "request.secret_in_url"),
    ("session_key=x", "request.secret_in_url"),
    ("a=b&session_key=x&c=d", "request.secret_in_url"),
    ("code_verifier=x", "request.verifier_in_url"),
];

/// The ways in which browsers announce a prefetch.
const PREFETCHES: [(&str, &str); 6] = [
    ("sec-purpose", "prefetch"),
    ("sec-purpose", "PREFETCH"),
    ("sec-purpose", "prefetch;prerender"),
    ("sec-purpose", " prefetch ; anonymous-client-ip"),
    ("purpose", "prefetch"),
    ("x-moz", "prefetch"),
];

/// Asserts that a browser with these cookies is refused with a secret in the query of
/// `path`, and with an announced prefetch.
async fn has_preconditions(broker: &TestBroker, method: Method, path: &str, cookies: &str) {
    let request = |path: &str| {
        let request = broker.request(method.clone(), path);
        request.header("Cookie", cookies)
    };
    let mark = if path.contains('?') { '&' } else { '?' };
    for (query, rule) in SECRETS {
        let leaking = request(&format!("{path}{mark}{query}"));
        is_refused(broker, leaking, 400, &[rule], query).await;
    }
    for (name, value) in PREFETCHES {
        let prefetch = request(path).header(name, value);
        is_refused(broker, prefetch, 503, &["request.prefetch"], value).await;
    }
}

/// `rules/documented.rs` has one of each kind at every operation.
// Threats: A16, A36, X5.
#[tokio::test]
async fn a_secret_in_a_query_or_a_prefetch_in_any_spelling_neither_binds_nor_consumes_a_login() {
    let broker = TestBroker::start().await;
    let path = broker.session(1).await;
    has_preconditions(&broker, GET, &path, "").await;
    for action in ["continue", "cancel"] {
        has_preconditions(&broker, POST, &format!("{path}/{action}"), "").await;
    }
    // No browser is bound.
    let browser = broker.browser();
    let back = browser.to_provider(&path).await;
    has_preconditions(&broker, GET, &back, &browser.cookie_header()).await;
    assert_eq!(broker.calls_upstream(), 0);
    browser.get(&back).await.redirects_to(CALLBACK);
    broker.has_status(1, "succeeded").await;
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
