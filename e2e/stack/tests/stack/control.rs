//! The calls of the control address, and its refusals: [`guard`] covers the callers, and
//! `control/refusals.txt` what is refused of their requests.

mod calls;
mod events;
mod guard;
mod reset;
mod sandboxes;

use reqwest::Method;
use serde_json::{Value, json};
use testkit::http::{Http, Response};
use testkit::login::{Flow, GITHUB, GOOGLE};

use crate::test_stack::TestStack;

#[tokio::test]
async fn the_index_lists_every_address_and_a_page_every_call() {
    let stack = TestStack::start().await;
    let urls = stack.urls();
    let expected = json!({
        "broker": urls.broker,
        "consumer": urls.consumer,
        "upstreams": { "google": urls.google, "github": urls.github },
    });
    get(&stack, "/api/stack").await.is_json(200, &expected);
    let page = get(&stack, "/calls").await;
    for call in ["GET /api/stack", "POST /api/reset"] {
        assert!(page.text().contains(call), "{call}");
    }
}

// Threats: A34.
#[tokio::test]
async fn what_is_refused_is_named_and_changes_nothing() {
    let stack = TestStack::start().await;
    let projects = get(&stack, "/api/projects").await;
    let rows = include_str!("control/refusals.txt");
    let rows = rows.replace("MY_PROJECT", &stack.backend.client_id);
    play(&rows, &stack.urls().control).await;
    let after = get(&stack, "/api/projects").await;
    assert_eq!(after.text(), projects.text());
    assert_eq!(get(&stack, "/api/faults").await.text(), "[]");
    assert_eq!(get(&stack, "/api/sandboxes").await.text(), "[]");
    assert_eq!(stack.clock().advanced_ms(), 0);
    for provider in [GOOGLE, GITHUB] {
        assert!(stack.provider(provider).queued().is_empty());
        stack.sign_in(Flow::Clean, provider).await.is_ada(provider);
    }
}

/// Makes the calls of `rows` at the control address, and checks the status of each answer and
/// words in it.
pub(crate) async fn play(rows: &str, control: &str) {
    for row in rows.lines() {
        if row.is_empty() || row.starts_with('#') {
            continue;
        }
        let (request, answer) = row.split_once(" => ").expect("a row");
        let (status, word) = answer.split_once(' ').unwrap_or((answer, ""));
        let mut parts = request.splitn(3, ' ');
        let method = parts.next().expect("a method");
        let path = parts.next().expect("a path");
        let media_type = match path.starts_with("/do/") {
            true => "application/x-www-form-urlencoded",
            false => "application/json",
        };
        let request = Http::at(control).request(method.parse().expect("one"), path);
        let request = request.header("Origin", control);
        let request = match parts.next() {
            Some(body) => request.header("Content-Type", media_type).body(long(body)),
            None => request,
        };
        let response = request.send().await;
        assert_eq!(response.status.to_string(), status, "{row}: {response:?}");
        let text = response.text();
        assert!(text.contains(word), "{row}: {text}");
    }
}

/// A body in which `xxx*81` is as many letters.
fn long(body: &str) -> String {
    let lengths = [81, 5_000, 65_537, 100_000].into_iter();
    lengths.fold(body.to_owned(), |body, length| {
        body.replace(&format!("xxx*{length}"), &"x".repeat(length))
    })
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
    let head = stack.control(Method::HEAD, "/api/stack", None).await;
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
