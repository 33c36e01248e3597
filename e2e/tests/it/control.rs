//! The calls of the control API, and its refusals. [`guard`] covers the callers.

mod clock;
mod events;
mod faults;
mod guard;
mod projects;
mod reset;
mod sandboxes;
mod upstreams;

use reqwest::Method;
use serde_json::{Value, json};

use crate::login::{Flow, GITHUB, PROVIDERS};
use crate::test_stack::TestStack;
use testkit::http::Http;
use testkit::http::Response;

#[tokio::test]
async fn the_index_lists_every_address() {
    let stack = TestStack::start().await;
    let urls = stack.urls();
    let response = get(&stack, "/api/stack").await;
    assert_eq!(response.status, 200);
    assert_eq!(
        response.json(),
        json!({
            "broker": urls.broker,
            "consumer": urls.consumer,
            "upstreams": { "google": urls.google, "github": urls.github },
        })
    );
}

#[tokio::test]
async fn what_does_not_exist_is_refused_with_a_list_of_what_does() {
    let stack = TestStack::start().await;
    let valid = |words: &'static [&'static str]| words;
    let check = async |method: Method, path: &str, body: Value, words: &[&str]| {
        let response = stack.control(method, path, Some(body)).await;
        for word in words {
            refuses(&response, 400, word);
        }
    };
    let providers = valid(&["google", "github"]);
    check(Method::PUT, "/api/upstreams/gitlab", json!({}), providers).await;
    check(
        Method::POST,
        "/api/upstreams/gitlab/next",
        json!({}),
        providers,
    )
    .await;
    for path in ["misbehaviours", "requests"] {
        let response = get(&stack, &format!("/api/upstreams/gitlab/{path}")).await;
        refuses(&response, 400, "google");
    }
    for provider in PROVIDERS {
        let upstream = format!("/api/upstreams/{provider}");
        let next = format!("{upstream}/next");
        let modes = valid(&["interactive", "automatic"]);
        check(Method::PUT, &upstream, json!({ "mode": "x" }), modes).await;
        let switches = valid(&["on", "off", "errors"]);
        check(Method::PUT, &upstream, json!({ "iss": "x" }), switches).await;
        check(
            Method::PUT,
            &upstream,
            json!({ "x": "on" }),
            &["mode", "iss"],
        )
        .await;
        let list = format!("GET {upstream}/misbehaviours lists all");
        let unknown = json!({ "misbehave": "den" });
        let words = ["Did you mean deny", &list];
        check(Method::POST, &next, unknown, &words).await;
        check(Method::POST, &next, json!({}), &["person", "misbehave"]).await;
        let both = json!({ "person": { "id": "1" }, "misbehave": "deny" });
        check(Method::POST, &next, both, &["person", "misbehave"]).await;
        check(Method::POST, &next, json!({ "person": {} }), &["id"]).await;
        check(
            Method::POST,
            &next,
            json!({ "person": { "id": 1 } }),
            &["id"],
        )
        .await;
    }
    check(
        Method::POST,
        "/api/upstreams/github/next",
        json!({ "misbehave": "wrong_nonce" }),
        &["wrong_nonce", "misbehaviours lists all"],
    )
    .await;
    // Nothing of all that was queued.
    stack.sign_in(Flow::Clean, GITHUB).await.is_ada(GITHUB);
}

#[tokio::test]
async fn its_page_lists_the_calls_and_loads_nothing_foreign() {
    let stack = TestStack::start().await;
    let page = get(&stack, "/calls").await;
    assert_eq!(page.status, 200);
    assert_eq!(
        page.header("content-type"),
        Some("text/html; charset=utf-8")
    );
    for call in [
        "GET /api/stack",
        "POST /api/reset",
        "POST /api/clock/advance",
    ] {
        assert!(page.text().contains(call), "{call}");
    }
}

#[tokio::test]
async fn a_body_that_is_broken_or_huge_is_refused() {
    let stack = TestStack::start().await;
    let url = format!("{}/api/clock/advance", stack.urls().control);
    for body in ["", "{", "[]", "{\"seconds\":1}x", "{\"seconds\":1,\"x\":2}"] {
        let request = Http::new()
            .post(&url)
            .header("Content-Type", "application/json");
        refuses(&request.body(body).send().await, 400, "");
    }
    let huge = format!("{{\"seconds\":1}}{}", " ".repeat(100_000));
    let request = Http::new()
        .post(&url)
        .header("Content-Type", "application/json");
    refuses(&request.body(huge).send().await, 400, "64 KiB");
}

#[tokio::test]
async fn a_call_that_does_not_exist_names_the_list_of_calls() {
    let stack = TestStack::start().await;
    refuses(&get(&stack, "/api/nothing").await, 404, "listed at /calls");
}

#[tokio::test]
async fn an_id_that_is_no_number_belongs_to_nothing() {
    let stack = TestStack::start().await;
    for id in ["soon", "-1", "1.5", "18446744073709551616"] {
        for list in ["/api/faults", "/api/held", "/api/upstreams/google/next"] {
            let path = format!("{list}/{id}");
            let refused = stack.control(Method::DELETE, &path, None).await;
            refuses(&refused, 404, "id: no ");
        }
    }
    let control = &stack.urls().control;
    let form = Http::at(control).post("/do/disarm");
    let form = form.header("Origin", control).form(&[("id", "soon")]);
    refuses(&form.send().await, 422, "an id is a number");
}

#[tokio::test]
async fn a_path_that_answers_get_also_allows_head() {
    let stack = TestStack::start().await;
    for (path, methods) in [
        ("/api/stack", "GET, HEAD"),
        ("/api/faults", "DELETE, GET, HEAD, POST"),
        ("/api/reset", "POST"),
    ] {
        let refused = stack.control(Method::PATCH, path, None).await;
        refuses(&refused, 405, methods);
        assert_eq!(refused.header("allow"), Some(methods));
    }
    let url = format!("{}/api/stack", stack.urls().control);
    let head = Http::new().request(Method::HEAD, url).send().await;
    assert_eq!(head.status, 200);
}

#[track_caller]
pub(crate) fn refuses(response: &Response, status: u16, word: &str) {
    assert_eq!(response.status, status, "{}", response.text());
    let body = response.json();
    assert_eq!(body["error"], "control_refused");
    let message = body["message"].as_str().expect("a sentence");
    assert!(message.contains(word), "{word} in {message}");
}

pub(crate) async fn get(stack: &TestStack, path: &str) -> Response {
    stack.control(Method::GET, path, None).await
}

pub(crate) async fn post(stack: &TestStack, path: &str, body: Value) -> Response {
    stack.control(Method::POST, path, Some(body)).await
}

async fn put(stack: &TestStack, path: &str, body: Value) -> Response {
    stack.control(Method::PUT, path, Some(body)).await
}
