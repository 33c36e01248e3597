//! The end of a sandbox: it leaves nothing behind, and makes room for another.

use std::time::Duration;

use reqwest::Method;
use serde_json::json;
use stack::StackSettings;
use testkit::http::Http;
use testkit::login::{Flow, GOOGLE, PROVIDERS};
use tokio::task::JoinSet;

use super::Sandbox;
use crate::control::{get, post, refuses};
use crate::test_stack::TestStack;

#[tokio::test]
async fn the_limit_holds_when_many_start_at_once() {
    let settings = StackSettings {
        max_sandboxes: 3,
        ..StackSettings::for_tests()
    };
    let stack = TestStack::start_with(settings).await;
    let mut starts = JoinSet::new();
    for _ in 0..9 {
        let control = Http::at(&stack.urls().control);
        starts.spawn(async move { control.post("/api/sandboxes").send().await });
    }
    let responses = starts.join_all().await;
    let (started, refused): (Vec<_>, Vec<_>) = responses.iter().partition(|it| it.status == 201);
    assert_eq!(started.len(), 3);
    for refused in refused {
        refuses(refused, 429, "DELETE /api/sandboxes/ID");
        refuses(refused, 429, "--max-sandboxes");
    }
    let some = started[0].json()["id"].clone();
    let path = format!("/api/sandboxes/{}", some.as_str().expect("an id"));
    assert_eq!(stack.control(Method::DELETE, &path, None).await.status, 204);
    assert_eq!(post(&stack, "/api/sandboxes", json!({})).await.status, 201);
}

#[tokio::test]
async fn after_its_end_no_server_answers_and_no_task_is_left() {
    let stack = TestStack::start().await;
    get(&stack, "/api/sandboxes").await;
    let runtime = tokio::runtime::Handle::current().metrics();
    let before = runtime.num_alive_tasks();

    let sandbox = Sandbox::start_with(&stack, json!({ "consumer": true })).await;
    sandbox.sign_in(Flow::Legacy, GOOGLE).await.is_ada(GOOGLE);
    let stream = format!("{}/api/events/stream?after=0", sandbox.text("control"));
    let mut watching = reqwest::get(&stream).await.expect("a stream");
    watching.chunk().await.expect("its first event");
    // A client that keeps its connections open.
    let idle = reqwest::Client::new();
    for server in ["broker", "consumer", "control"] {
        let response = idle.get(sandbox.text(server)).send().await;
        response.expect("an answer").text().await.expect("a page");
    }
    assert!(runtime.num_alive_tasks() > before);

    sandbox.end(&stack).await;
    let upstreams = &sandbox.info["upstreams"];
    let providers = PROVIDERS.map(|it| upstreams[it].as_str().expect("a URL"));
    let servers = ["control", "broker", "consumer"].map(|it| sandbox.text(it));
    for url in servers.iter().chain(&providers) {
        assert!(is_unserved(url).await, "{url}");
    }
    drop(watching);
    until(async || runtime.num_alive_tasks() <= before).await;
    drop(idle);

    for method in [Method::GET, Method::DELETE] {
        for (id, word) in [
            ("s1", "POST /api/sandboxes makes a new one"),
            ("s2", "there is no such sandbox"),
            ("s0", "there is no such sandbox"),
            ("s-1", "there is no such sandbox"),
            ("s02", "there is no such sandbox"),
            ("%00", "there is no such sandbox"),
        ] {
            let path = format!("/api/sandboxes/{id}");
            let refused = stack.control(method.clone(), &path, None).await;
            refuses(&refused, 404, word);
        }
    }
}

#[tokio::test]
async fn it_ends_by_itself_when_its_control_address_is_not_called() {
    let stack = TestStack::start().await;
    let brief = Sandbox::start_with(&stack, json!({ "ttl_seconds": 1 })).await;
    let lasting = Sandbox::start(&stack).await;
    let ends_at = async || {
        let info = get(&stack, "/api/sandboxes/s2").await.json();
        info["ends_at"].as_i64().expect("seconds")
    };
    let first = ends_at().await;
    // Its own clock decides nothing about its end.
    let day = json!({ "seconds": 86_400 });
    lasting.post("/api/clock/advance", day).await;
    until(async || get(&stack, "/api/sandboxes/s1").await.status == 404).await;
    assert!(is_unserved(brief.text("broker")).await);
    let left = get(&stack, "/api/sandboxes").await.json();
    assert_eq!(left.as_array().expect("a list").len(), 1);
    assert_eq!(left[0]["id"], lasting.info["id"]);
    // Each call to its control address moves its end.
    until(async || {
        lasting.get("/api/clock").await;
        ends_at().await > first
    })
    .await;
}

#[tokio::test]
async fn it_does_not_end_while_an_event_stream_of_its_control_address_is_open() {
    let stack = TestStack::start().await;
    let sandbox = Sandbox::start_with(&stack, json!({ "ttl_seconds": 1 })).await;
    let info = async || get(&stack, "/api/sandboxes/s1").await;
    let stream = format!("{}/api/events/stream", sandbox.text("control"));
    let watching = reqwest::get(&stream).await.expect("a stream");
    let first = info().await.json()["ends_at"].as_i64().expect("seconds");
    // A call to the stack is none to the sandbox.
    until(async || {
        let info = info().await;
        assert_eq!(info.status, 200, "it has ended");
        info.json()["ends_at"].as_i64() > Some(first + 1)
    })
    .await;
    drop(watching);
    until(async || info().await.status == 404).await;
}

async fn is_unserved(url: &str) -> bool {
    let error = reqwest::get(url).await.expect_err("no server is there");
    error.is_connect()
}

/// Waits for a condition that another task or process brings about.
#[expect(
    clippy::disallowed_methods,
    reason = "sandboxes end by the system's time, and connections end when they do"
)]
async fn until(mut is_true: impl AsyncFnMut() -> bool) {
    for _ in 0..1_000 {
        if is_true().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("not within 20 seconds");
}
