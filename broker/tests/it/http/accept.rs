//! The `Accept` header decides whether a refusal is a page or JSON, except in the API.

use reqwest::Method;

use super::methods::METHODS;
use crate::test_broker::{TestBroker, session_body};

#[tokio::test]
async fn a_wrong_method_is_a_page_for_a_browser() {
    let broker = TestBroker::start().await;
    for path in ["/login/handle", "/authorize", "/return"] {
        let request = broker.request(Method::POST, path);
        let response = request.header("Accept", "text/html").send().await;
        response.is_refusal_page(405, "request.method");
        assert_eq!(response.header("allow"), Some("GET, HEAD"));
    }
}

#[tokio::test]
async fn an_api_path_never_returns_a_page() {
    let broker = TestBroker::start().await;
    for accept in [
        "text/html",
        "application/json, text/html;q=0.1",
        "text/html;q=0",
        "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
    ] {
        for (method, path, status) in [
            (Method::GET, "/v1/token", 405),
            (Method::POST, "/v1/profile", 405),
            (Method::DELETE, "/api/providers", 405),
            (Method::GET, "/v1", 404),
            (Method::GET, "/v1/", 404),
            (Method::GET, "/api", 404),
            (Method::GET, "/api/nothing", 404),
            (Method::GET, "/v1/login", 404),
            (Method::POST, "//v1/token", 404),
        ] {
            let request = broker.request(method, path).header("Accept", accept);
            request.send().await.is_refusal(status);
        }
    }
}

#[tokio::test]
async fn an_unknown_path_is_404_in_json_or_on_a_page() {
    let broker = TestBroker::start().await;
    for path in [
        "/",
        "/nowhere",
        "/v1",
        "/v1/",
        "/v1/login",
        "/v1/login/sessions",
        "/v1/Token",
        "/v1/authorize",
        "/api",
        "/api/",
        "/v2/token",
        "/v10",
        "/token",
        "/providers",
        "/login",
        "/login/%00",
        "/login/a/b",
        "/callback",
        "/callback/gitlab",
        "/callback/Google",
        "/robots.txt",
        "/.well-known/openid-configuration",
        "/..%2f..%2fetc%2fpasswd",
    ] {
        let response = broker.get(path).await;
        assert_eq!(response.status, 404, "{path}: {response:?}");
        response.is_refusal(404);
        assert_eq!(broker.last_rule(), Some("request.path"), "{path}");
        let request = broker
            .request(Method::GET, path)
            .header("Accept", "text/html");
        let response = request.send().await;
        match path.split('/').nth(1) {
            Some("v1" | "api") => response.is_refusal(404),
            _ => response.is_refusal_page(404, "request.path"),
        }
    }
    for method in METHODS.into_iter().filter(|method| *method != Method::GET) {
        broker
            .request(method, "/nowhere")
            .send()
            .await
            .is_refusal(404);
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
        let request = broker
            .request(Method::GET, "/nowhere")
            .header("Accept", accept);
        let response = request.send().await;
        let media_type = response.header("content-type").unwrap();
        assert_eq!(media_type.starts_with("text/html"), is_page, "{accept}");
        if is_page {
            response.is_refusal_page(404, "request.path");
        } else {
            response.is_refusal(404);
        }
    }
    broker
        .request(Method::GET, "/nowhere")
        .send()
        .await
        .is_refusal(404);
    let two_headers = broker
        .request(Method::GET, "/nowhere")
        .header("Accept", "text/html;q=0.5")
        .header("Accept", "application/json");
    two_headers.send().await.is_refusal(404);
}

#[tokio::test]
async fn the_api_ignores_accept() {
    let broker = TestBroker::start().await;
    let request = broker
        .request(Method::POST, "/v1/login/session")
        .header("Accept", "text/html")
        .json(&session_body(1));
    let response = request.send().await;
    assert_eq!(response.header("content-type"), Some("application/json"));
    assert_eq!(response.status, 200);
    let request = broker
        .request(Method::GET, "/v1/profile")
        .header("Accept", "text/html");
    request.send().await.is_refusal(401);
}
