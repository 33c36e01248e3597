//! Request bodies: unusual ones that are accepted, by their JSON, media type and size; malformed
//! ones, played at each endpoint that reads one; and preconditions in every spelling: status,
//! the rule in the audit log, and that no request changes anything. And requests that only
//! look malformed. The contract's own tests have the fields of a body with every value that
//! is malformed.

use reqwest::Method;
use serde_json::Value;
use testkit::http::{Request, Response};
use testkit::malformed;

use crate::test_broker::{
    CALLBACK, LOCAL_CALLBACK, TestBroker, key, result_body, session_body, token_body, with,
};

const GET: Method = Method::GET;
const POST: Method = Method::POST;

const PATH: &str = "/v1/login/session";
const JSON: &str = "application/json";

async fn post(broker: &TestBroker, content_type: &str, body: impl Into<String>) -> Response {
    let request = broker.request(Method::POST, PATH);
    let request = request.header("Content-Type", content_type);
    request.body(body.into()).send().await
}

// Threats: A18.
#[tokio::test]
async fn a_body_of_32_kib_is_accepted_and_a_larger_one_starts_nothing() {
    let broker = TestBroker::start().await;
    let padded = |n: u8, length: usize| {
        let body = format!("\r\n\t {}", session_body(n));
        let spaces = " ".repeat(length - body.len());
        body + &spaces
    };
    let full = post(&broker, JSON, padded(1, 32 * 1024)).await;
    assert_eq!(full.status, 200);
    for length in [32 * 1024 + 1, 100_000] {
        let large = post(&broker, JSON, padded(2, length)).await;
        broker.has_refused(&large, 413, "body.size");
    }
    broker.session(2).await;
}

#[tokio::test]
async fn the_longest_request_fits_although_each_character_is_escaped() {
    let broker = TestBroker::start().await;
    let escape = |text: &str| -> String {
        text.chars()
            .map(|c| format!("\\u{:04x}", c as u32))
            .collect()
    };
    let callback = format!("https://a.example/{}", "x".repeat(2030));
    let members = [
        ("client_id", "x".repeat(100)),
        ("client_secret", "x".repeat(200)),
        ("session_key", key(1)),
        ("redirect_uri", callback),
    ]
    .map(|(name, value)| format!("\"{}\":\"{}\"", escape(name), escape(&value)));
    let request = broker.request(Method::POST, "/v1/login/result");
    let request = request.header("Content-Type", JSON);
    let body = format!("{{{}}}", members.join(","));
    // It is well-formed, but the client is unknown.
    let refused = request.body(body).send().await;
    broker.has_refused(&refused, 400, "client.recognised");
}

#[tokio::test]
async fn a_media_type_is_compared_without_case_and_ends_at_its_first_semicolon() {
    let broker = TestBroker::start().await;
    for (n, content_type) in (1..).zip([
        "application/json; charset=utf-8",
        "application/json;charset=UTF-8",
        "Application/JSON",
        "APPLICATION/JSON; CHARSET=ISO-8859-1",
        "application/json;",
        "application/json ;",
        "application/json ; charset=utf-8",
        "application/json;;",
        "application/json; charset",
        "application/json;\tcharset=\"utf-8",
    ]) {
        let response = post(&broker, content_type, session_body(n).to_string()).await;
        assert_eq!(response.status, 200, "{content_type}: {response:?}");
    }
}

#[tokio::test]
async fn a_body_is_read_if_nothing_but_its_transfer_is_chunked() {
    let broker = TestBroker::start().await;
    for (n, encoding) in (1..).zip(["identity", "Identity", ""]) {
        let request = broker.request(Method::POST, PATH);
        let request = request.header("Content-Encoding", encoding);
        let response = request.json(&session_body(n)).send().await;
        assert_eq!(response.status, 200, "{encoding:?}");
    }
    let body = session_body(4).to_string();
    for (coding, status) in [
        ("gzip, chunked", 415),
        ("x, chunked", 415),
        ("chunked", 200),
    ] {
        let headers = format!("Content-Type: {JSON}\r\nTransfer-Encoding: {coding}\r\n");
        let chunks = format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len());
        let response = broker.send_raw_body("POST", PATH, &headers, &chunks).await;
        assert_eq!(response.status, status, "{coding}: {response:?}");
    }
}

/// A callback may be malformed, unregistered, or another one than before.
const CALLBACK_RULES: [&str; 5] = [
    "redirect_uri.shape",
    "redirect_uri.canonical",
    "redirect_uri.registered",
    "result.callback",
    "code.callback",
];

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
    for malformed in malformed::bodies(good) {
        let mut request = broker.request(POST, path);
        for (name, value) in &malformed.headers {
            request = request.header(name, value);
        }
        let start = &malformed.body[..malformed.body.len().min(200)];
        let flaw = format!("{:?} {}", malformed.headers, start.escape_ascii());
        let (request, rules) = (request.body(malformed.body), [malformed.rule]);
        is_refused(broker, request, malformed.status, &rules, &flaw).await;
    }
    for callback in malformed::callbacks(good["redirect_uri"].as_str().unwrap()) {
        let body = with(good.clone(), "redirect_uri", callback);
        let request = broker.request(POST, path).json(&body);
        is_refused(broker, request, 400, &CALLBACK_RULES, &body.to_string()).await;
    }
}

// Threats: A18, CVE-2020-15233, CVE-2020-15234.
#[tokio::test]
async fn a_malformed_body_is_refused_at_each_endpoint_and_changes_nothing() {
    let broker = TestBroker::start().await;
    broker.sign_in(1).await;
    let code = broker.code().await;
    let local = with(session_body(2), "redirect_uri", LOCAL_CALLBACK);
    for (path, good) in [
        ("/v1/login/session", session_body(2)),
        ("/v1/login/session", local),
        ("/v1/login/result", result_body(1)),
        ("/v1/token", token_body(&code)),
    ] {
        refuses_malformed(&broker, path, &good).await;
    }
    broker.session(2).await;
    broker.has_status(1, "succeeded").await;
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
