//! Wrong and unknown methods, HEAD, method overrides in forms, and the spelling of a path.
//! Unknown paths, and the `Accept` header, which decides whether a refusal is a page or
//! JSON, except in the API.

use reqwest::Method;
use testkit::http::Response;

use crate::test_broker::{CALLBACK, TestBroker, authorize_path};

/// Each path with the value of its `Allow`.
const PATHS: [(&str, &str); 17] = [
    ("/v1/login/session", "POST"),
    ("/v1/login/result", "POST"),
    ("/v1/token", "POST"),
    ("/v1/profile", "GET, HEAD"),
    ("/v1/revoke", "POST"),
    ("/api/providers", "GET, HEAD"),
    ("/openapi.json", "GET, HEAD"),
    ("/authorize", "GET, HEAD"),
    ("/login/handle", "GET, HEAD"),
    ("/login/handle/continue", "POST"),
    ("/login/handle/cancel", "POST"),
    ("/return", "GET, HEAD"),
    ("/callback/github", "GET, HEAD, POST"),
    ("/style.css", "GET, HEAD"),
    ("/question.js", "GET, HEAD"),
    ("/livez", "GET, HEAD"),
    ("/readyz", "GET, HEAD"),
];

/// Methods that no path has, and one in another case.
const ODD_METHODS: [&str; 6] = ["CONNECT", "PROPFIND", "QUERY", "get", "BREW", "Post"];

/// Asserts that a browser gets a page, except from the API.
#[track_caller]
fn is_refused_to_a_browser(path: &str, response: &Response, status: u16, rule: &str) {
    match path.split('/').nth(1) {
        Some("v1" | "api") => response.is_refusal(status),
        _ => response.is_refusal_page(status, rule),
    }
}

const FORM: &str = "application/x-www-form-urlencoded";

// Threats: A36.
#[tokio::test]
async fn a_wrong_method_is_405_with_the_allowed_ones() {
    let broker = TestBroker::start().await;
    let known = ["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"];
    for (path, allow) in PATHS {
        let is_own = |method: &&str| allow.contains(*method);
        let wrong = known.into_iter().filter(|method| !is_own(method));
        for method in wrong.chain(ODD_METHODS) {
            let response = broker.send_raw(method, path, "").await;
            broker.has_refused(&response, 405, "request.method");
            assert_eq!(response.header("allow"), Some(allow), "{method} {path}");
            let event = broker.events().pop().unwrap();
            let id = Some(&*event.request_id);
            assert_eq!(response.header("x-request-id"), id, "{method} {path}");
            let html = "Accept: text/html\r\n";
            let response = broker.send_raw(method, path, html).await;
            is_refused_to_a_browser(path, &response, 405, "request.method");
            assert_eq!(response.header("allow"), Some(allow), "{method} {path}");
        }
    }
}

// Threats: A36.
#[tokio::test]
async fn the_preconditions_apply_to_every_method() {
    let broker = TestBroker::start().await;
    let prefetch = "Sec-Purpose: prefetch\r\n";
    for method in ["DELETE", "OPTIONS"].into_iter().chain(ODD_METHODS) {
        for (target, headers, status, rule) in [
            ("/nowhere", "", 404, "request.path"),
            ("//v1/token", "Accept: text/html\r\n", 404, "request.path"),
            (
                "/v1/token?client_secret=x",
                "",
                400,
                "request.secret_in_url",
            ),
            ("/nowhere?session_key=x", "", 400, "request.secret_in_url"),
            ("/?code_verifier=x", "", 400, "request.verifier_in_url"),
            ("/livez", prefetch, 503, "request.prefetch"),
        ] {
            let response = broker.send_raw(method, target, headers).await;
            broker.has_refused(&response, status, rule);
        }
    }
    // Rocket refuses a target that is no path before any code of the broker runs.
    let response = broker.send_raw("CONNECT", "evil.example:443", "").await;
    broker.has_refused(&response, 400, "request.http");
}

// Threats: X5, A36.
#[tokio::test]
async fn head_changes_nothing_anywhere() {
    let broker = TestBroker::start().await;
    let visit = broker.session(1).await;
    for (path, status) in [
        (&*visit, 200),
        ("/login/unknown", 200),
        (&*authorize_path(), 200),
        ("/callback/google", 200),
        ("/callback/github", 200),
        ("/style.css", 200),
        ("/v1/profile", 401),
        ("/callback/null", 404),
        ("/callback/Google", 404),
        ("/callback/google2", 404),
        ("/nowhere", 404),
        ("/v1/token", 405),
        ("/v1/revoke", 405),
    ] {
        let response = broker.request(Method::HEAD, path).send().await;
        assert_eq!((response.status, response.text()), (status, ""), "{path}");
        assert_eq!(response.location(), None, "{path}");
        assert_eq!(response.set_cookies(), Vec::<String>::new(), "{path}");
    }
    // HEAD binds no browser, and consumes no upstream login.
    let browser = broker.browser();
    let back = browser.to_provider(&visit).await;
    let cookie = [("Cookie", browser.cookie_header())];
    let response = broker.send(Method::HEAD, &back, &cookie).await;
    assert_eq!((response.status, response.location()), (200, None));
    assert_eq!(broker.calls_upstream(), 0);
    browser.get(&back).await.redirects_to(CALLBACK);
    broker.has_status(1, "succeeded").await;
}

#[tokio::test]
async fn a_path_has_one_spelling() {
    let broker = TestBroker::start().await;
    for (path, allow) in PATHS {
        let method = allow.split(',').next().unwrap();
        let escaped = path.replacen('i', "%69", 1).replacen('o', "%6f", 1);
        for alias in [format!("/{path}"), format!("{path}/"), escaped] {
            if alias != path {
                let response = broker.send_raw(method, &alias, "").await;
                broker.has_refused(&response, 404, "request.path");
            }
        }
    }
}

/// Rocket changes the method before any code of the broker runs, so a GET with the
/// override `get` looks like a POST with it.
// Threats: A36.
#[tokio::test]
async fn every_spelling_of_a_method_override_is_refused() {
    let broker = TestBroker::start().await;
    let token = broker.access_token().await;
    for body in [
        "_method=get",
        "_method=GET&a=b",
        "&&_method=get",
        "_method=head",
    ] {
        for method in [Method::POST, Method::GET] {
            for media_type in [FORM, "APPLICATION/X-WWW-FORM-URLENCODED; charset=utf-8"] {
                let request = broker.request(method.clone(), "/v1/profile");
                let request = request.header("Content-Type", media_type);
                let refused = request.bearer_auth(&token).body(body).send().await;
                broker.has_refused(&refused, 415, "body.media_type");
            }
        }
        let (start, rest) = body.split_at(2);
        let headers = format!(
            "Authorization: Bearer {token}\r\nContent-Type: {FORM}\r\n\
             Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n"
        );
        let chunks = format!("2\r\n{start}\r\n{:x}\r\n{rest}\r\n0\r\n\r\n", rest.len());
        let chunked = broker.send_raw_body("POST", "/v1/profile", &headers, &chunks);
        chunked.await.is_refusal(415);
    }
}

#[tokio::test]
async fn a_form_without_an_override_keeps_its_method() {
    let broker = TestBroker::start().await;
    let token = broker.access_token().await;
    for (method, media_type, body, status) in [
        (Method::GET, FORM, "", 200),
        (Method::HEAD, FORM, "", 200),
        (Method::GET, FORM, "a=b", 200),
        (Method::GET, FORM, "a=b&_method=get", 200),
        (Method::GET, FORM, "_methods=get", 200),
        (Method::PUT, FORM, "a=b", 405),
        (Method::OPTIONS, "text/plain", "_method=get", 405),
    ] {
        let request = broker.request(method.clone(), "/v1/profile");
        let request = request.header("Content-Type", media_type);
        let response = request.bearer_auth(&token).body(body).send().await;
        assert_eq!(response.status, status, "{method} {media_type}: {body:?}");
    }
}

const GET: Method = Method::GET;

const HTML: [(&str, &str); 1] = [("Accept", "text/html")];

#[tokio::test]
async fn an_unknown_path_is_404_in_json_or_on_a_page() {
    let broker = TestBroker::start().await;
    let paths = "/ /v1 /v1/ /api /api/nothing /v1/login /v1/login/sessions /v1/Token /v2/token /v10 /token /login /login/%00 \
                 /login/a/b /callback /callback/gitlab /callback/Google /robots.txt \
                 /.well-known/openid-configuration /..%2f..%2fetc%2fpasswd";
    for path in paths.split(' ') {
        let response = broker.get(path).await;
        broker.has_refused(&response, 404, "request.path");
        let response = broker.send(GET, path, &HTML).await;
        is_refused_to_a_browser(path, &response, 404, "request.path");
    }
}

/// Values of `Accept` that prefer HTML to JSON.
const PAGES: &str = "text/html | TEXT/HTML | text/html ; charset=utf-8 | text/html; | \
    application/xhtml+xml, text/html | text/html, application/json;q=0.9 | \
    text/html; q=0.9, application/json; q=0.8 | \
    text/html;level=1;Q=0.900, application/json;q=0.899 | text/html;q=0.9,*/*;q=0.8 | \
    text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8 | \
    text/html;q=0.001 | text/html, application/*;q=0.5, application/json;q=0.1 | \
    */*, text/html | text/html, image/jxr, */* | text/html, application/json";

/// And values that do not. The last one is empty.
const NO_PAGES: &str = "application/json, text/html | text/html;q=0.9, application/json | \
    application/json, text/html;q=0.1 | text/html;q=0.1, */* | \
    text/html;q=0.5, application/*;q=0.6 | text/html;q=0 | text/html;q=0.000, */*;q=0.1 | \
    text/html;q=none | text/html;q=2 | application/json | */* | text/* | text/plain | ";

#[tokio::test]
async fn a_page_is_sent_only_if_accept_prefers_html_and_never_by_the_api() {
    let broker = TestBroker::start().await;
    for accept in PAGES.split(" | ") {
        let page = broker.send(GET, "/nowhere", &[("Accept", accept)]).await;
        page.is_refusal_page(404, "request.path");
    }
    for accept in NO_PAGES.split(" | ") {
        let json = broker.send(GET, "/nowhere", &[("Accept", accept)]).await;
        json.is_refusal(404);
    }
    for accept in PAGES.split(" | ").chain(NO_PAGES.split(" | ")) {
        for (path, status) in [
            ("/v1/token", 405),
            ("/v1/profile", 401),
            ("/v1", 404),
            ("/api/nothing", 404),
        ] {
            let json = broker.send(GET, path, &[("Accept", accept)]).await;
            json.is_refusal(status);
        }
    }
    broker.get("/nowhere").await.is_refusal(404);
    let two = [
        ("Accept", "text/html;q=0.5"),
        ("Accept", "application/json"),
    ];
    broker.send(GET, "/nowhere", &two).await.is_refusal(404);
}
