//! Unknown paths, and the `Accept` header, which decides whether a refusal is a page or
//! JSON, except in the API.

use reqwest::Method;

use crate::test_broker::TestBroker;

const GET: Method = Method::GET;

const HTML: [(&str, &str); 1] = [("Accept", "text/html")];

#[tokio::test]
async fn a_wrong_method_is_a_page_for_a_browser() {
    let broker = TestBroker::start().await;
    for method in ["POST", "BREW"] {
        for path in ["/login/handle", "/authorize", "/return"] {
            let response = broker.send_raw(method, path, "Accept: text/html\r\n").await;
            response.is_refusal_page(405, "request.method");
            assert_eq!(response.header("allow"), Some("GET, HEAD"));
        }
    }
}

#[tokio::test]
async fn an_api_path_never_returns_a_page() {
    let broker = TestBroker::start().await;
    for accept in [
        "text/html",
        "text/html;q=0",
        "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
    ] {
        for (method, path, status) in [
            ("GET", "/v1/token", 405),
            ("BREW", "/v1/token", 405),
            ("DELETE", "/api/providers", 405),
            ("GET", "/v1/profile", 401),
            ("GET", "/v1", 404),
            ("GET", "/v1/", 404),
            ("GET", "/api", 404),
            ("GET", "/api/nothing", 404),
            ("POST", "//v1/token", 404),
        ] {
            let accept = format!("Accept: {accept}\r\n");
            let response = broker.send_raw(method, path, &accept).await;
            response.is_refusal(status);
        }
    }
}

#[tokio::test]
async fn an_unknown_path_is_404_in_json_or_on_a_page() {
    let broker = TestBroker::start().await;
    let paths = "/ /v1/login /v1/login/sessions /v1/Token /v2/token /v10 /token /login /login/%00 \
                 /login/a/b /callback /callback/gitlab /callback/Google /robots.txt \
                 /.well-known/openid-configuration /..%2f..%2fetc%2fpasswd";
    for path in paths.split(' ') {
        let response = broker.get(path).await;
        broker.has_refused(&response, 404, "request.path");
        let response = broker.send(GET, path, &HTML).await;
        match path.split('/').nth(1) {
            Some("v1" | "api") => response.is_refusal(404),
            _ => response.is_refusal_page(404, "request.path"),
        }
    }
}

#[tokio::test]
async fn a_page_is_sent_only_if_accept_prefers_html() {
    let broker = TestBroker::start().await;
    for (accept, is_page) in [
        ("text/html", true),
        ("TEXT/HTML", true),
        ("text/html ; charset=utf-8", true),
        ("text/html;", true),
        ("application/xhtml+xml, text/html", true),
        ("text/html, application/json;q=0.9", true),
        ("text/html; q=0.9, application/json; q=0.8", true),
        ("text/html;level=1;Q=0.900, application/json;q=0.899", true),
        ("text/html;q=0.9,*/*;q=0.8", true),
        ("text/html;q=0.001", true),
        (
            "text/html, application/*;q=0.5, application/json;q=0.1",
            true,
        ),
        ("*/*, text/html", true),
        ("text/html, image/jxr, */*", true),
        ("text/html, application/json", true),
        ("application/json, text/html", false),
        ("text/html;q=0.9, application/json", false),
        ("application/json, text/html;q=0.1", false),
        ("text/html;q=0.1, */*", false),
        ("text/html;q=0.5, application/*;q=0.6", false),
        ("text/html;q=0", false),
        ("text/html;q=0.000, */*;q=0.1", false),
        ("text/html;q=none", false),
        ("text/html;q=2", false),
        ("application/json", false),
        ("*/*", false),
        ("text/*", false),
        ("text/plain", false),
        ("", false),
    ] {
        let response = broker.send(GET, "/nowhere", &[("Accept", accept)]).await;
        match is_page {
            true => response.is_refusal_page(404, "request.path"),
            false => response.is_refusal(404),
        }
    }
    broker.get("/nowhere").await.is_refusal(404);
    let two = [
        ("Accept", "text/html;q=0.5"),
        ("Accept", "application/json"),
    ];
    broker.send(GET, "/nowhere", &two).await.is_refusal(404);
}
