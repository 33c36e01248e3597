//! The control API for events, their stream, exchanges and logins.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use testkit::http::client;
use testkit::login::{Flow, GITHUB, GOOGLE};

use super::get;
use crate::test_stack::TestStack;

/// A stream in which an event is missing ends by this.
const FOR_EVER: Duration = Duration::from_secs(60);

async fn events(stack: &TestStack, query: &str) -> Vec<Value> {
    let events = get(stack, &format!("/api/events{query}")).await.json();
    events.as_array().expect("a list").clone()
}

fn seqs(events: &[Value]) -> Vec<u64> {
    let seq = |event: &Value| event["seq"].as_u64().expect("a number");
    events.iter().map(seq).collect()
}

#[tokio::test]
async fn events_are_listed_in_order_after_a_number_and_by_login() {
    let stack = TestStack::start().await;
    stack.sign_in(Flow::Clean, GOOGLE).await;
    stack.sign_in(Flow::Legacy, GITHUB).await;
    let all = events(&stack, "").await;
    assert!(seqs(&all).is_sorted_by(|one, next| one < next));
    let middle = seqs(&all)[2];
    assert_eq!(events(&stack, &format!("?after={middle}")).await, all[3..]);
    let last = seqs(&all)[all.len() - 1];
    assert!(events(&stack, &format!("?after={last}")).await.is_empty());

    let mut parted = Vec::new();
    for login in stack.event_log().logins(9) {
        let its = events(&stack, &format!("?login={login}")).await;
        assert!(its.iter().all(|event| event["login"] == login));
        parted.extend(seqs(&its));
    }
    parted.sort_unstable();
    assert_eq!(parted, seqs(&all));
    assert!(events(&stack, "?login=unknown").await.is_empty());
}

#[tokio::test]
async fn an_event_has_caller_callee_time_and_outcome() {
    let stack = TestStack::start().await;
    let login = stack.completed_login(GOOGLE).await;
    stack.backend.result(&login.session_key).await;
    stack.advance_seconds(5);
    let refused = stack.backend.result(&login.session_key).await;
    let shown = events(&stack, "").await;
    let [.., first, again] = &shown[..] else {
        panic!("two reads: {shown:?}");
    };
    assert!(again["at"].as_i64() >= first["at"].as_i64().map(|at| at + 5_000));
    for (field, value) in [
        ("source", json!("audit")),
        ("from", json!("consumer")),
        ("to", json!("broker")),
        ("operation", json!("POST /v1/login/result")),
        ("request_id", json!(refused.header("x-request-id"))),
        ("project", json!(stack.backend.client_id)),
        ("login", first["login"].clone()),
        ("status", json!(400)),
        ("rule", json!("result.once")),
        ("committed", json!(false)),
    ] {
        assert_eq!(again[field], value, "{field}");
    }
    for words in ["says", "law", "advice"] {
        assert!(again[words].is_string(), "{words}");
    }
    let (status, committed) = (&first["status"], &first["committed"]);
    assert_eq!((status, committed), (&json!(200), &json!(true)));
}

#[tokio::test]
async fn the_event_stream_sends_past_and_new_events() {
    let stack = TestStack::start().await;
    stack.backend.start_login(GOOGLE).await;
    let url = format!("{}/api/events/stream?after=0", stack.urls().control);
    let stream = client().get(&url).timeout(FOR_EVER).send().await;
    let mut stream = stream.expect("a stream");
    assert_eq!(stream.headers()["content-type"], "text/event-stream");
    let first = next(&mut stream).await;
    assert_eq!(first["operation"], "POST /v1/login/session");
    stack.backend.providers().await;
    assert_eq!(next(&mut stream).await["operation"], "GET /api/providers");

    // A browser reconnects with the parameter that it had.
    for url in [&url, &url.replace("?after=0", "")] {
        let resumed = client().get(url).header("Last-Event-ID", "1");
        let resumed = resumed.timeout(FOR_EVER).send().await;
        let mut resumed = resumed.expect("a stream");
        assert_eq!(next(&mut resumed).await["seq"], 2, "{url}");
    }
}

#[tokio::test]
async fn the_event_stream_tells_of_every_call_that_may_have_changed_something() {
    let stack = TestStack::start().await;
    let url = format!("{}/api/events/stream", stack.urls().control);
    let stream = client().get(url).timeout(FOR_EVER).send().await;
    let mut stream = stream.expect("a stream");
    // The first change has registered the project of the test.
    for (count, (method, path)) in (2..).zip([
        (Method::DELETE, "/api/faults"),
        (Method::PUT, "/api/upstreams/google"),
        (Method::POST, "/api/reset"),
    ]) {
        // A call that reads, and one that is refused, change nothing.
        get(&stack, "/api/stack").await;
        stack.control(Method::POST, "/api/faults", None).await;
        let body = (method == Method::PUT).then(|| json!({ "iss": "off" }));
        let done = stack.control(method, path, body).await;
        assert!(done.status < 300, "{path}: {done:?}");
        let event = next_text(&mut stream).await;
        assert!(event.contains("event:state"), "{event}");
        assert!(event.contains(&format!("data:{count}")), "{path}: {event}");
    }
}

#[tokio::test]
async fn event_streams_beyond_the_limit_are_refused() {
    let stack = TestStack::start().await;
    let mut open = Vec::new();
    let refused = loop {
        let url = format!("{}/api/events/stream", stack.urls().control);
        let answer = client().get(url).timeout(FOR_EVER).send().await;
        match answer.expect("an answer") {
            stream if stream.status() == 200 => open.push(stream),
            refused => break refused,
        }
        assert!(open.len() < 200, "no limit");
    };
    assert_eq!(refused.status(), 429);
    let message = refused.text().await.expect("a message");
    assert!(message.contains("event streams"), "{message}");
    assert_eq!(get(&stack, "/api/stack").await.status, 200);
}

/// The data of the next event of a stream.
async fn next(stream: &mut reqwest::Response) -> Value {
    let text = next_text(stream).await;
    let data = text.lines().find_map(|line| line.strip_prefix("data:"));
    serde_json::from_str(data.expect("data")).expect("JSON")
}

/// The lines of the next event of a stream.
async fn next_text(stream: &mut reqwest::Response) -> String {
    let mut text = String::new();
    while !(text.contains("data:") && text.ends_with("\n\n")) {
        let chunk = stream.chunk().await.expect("an open stream");
        text.push_str(std::str::from_utf8(&chunk.expect("a chunk")).expect("UTF-8"));
    }
    text
}

/// The JSON of a body in an exchange.
fn body(message: &Value) -> Value {
    let body = message["body"].as_str().expect("a body");
    serde_json::from_str(body).expect("JSON")
}

#[tokio::test]
async fn an_exchange_shows_the_http_messages_without_secrets() {
    let stack = TestStack::start().await;
    let login = stack.completed_login(GOOGLE).await;
    let response = stack.backend.result(&login.session_key).await;
    let id = response.header("x-request-id").expect("an id");
    let exchange = get(&stack, &format!("/api/exchanges/{id}")).await.json();
    assert_eq!(exchange["request"]["start"], "POST /v1/login/result");
    assert_eq!(exchange["answer"]["start"], "200 OK");
    let asked = body(&exchange["request"]);
    assert_eq!(asked["client_id"], stack.backend.client_id);
    assert_eq!(asked["redirect_uri"], stack.backend.callback);
    for secret in ["client_secret", "session_key"] {
        let shown = asked[secret].as_str().expect("a mask");
        assert!(shown.starts_with("[masked "), "{shown}");
    }
    assert_eq!(body(&exchange["answer"]), response.json());
}

/// The status of the newest login.
async fn newest(stack: &TestStack) -> Value {
    let name = stack.event_log().logins(1).remove(0);
    let listed = get(stack, "/api/logins").await.json();
    assert_eq!(listed[0]["login"], name);
    let shown = get(stack, &format!("/api/logins/{name}")).await.json();
    assert_eq!(shown["login"], name);
    shown
}

#[tokio::test]
async fn the_status_of_a_login_follows_its_steps() {
    let stack = TestStack::start().await;
    let login = stack.backend.start_login(GITHUB).await;
    let shown = newest(&stack).await;
    for (field, value) in [
        ("flow", "clean"),
        ("state", "pending"),
        ("provider", GITHUB),
        ("project", &stack.backend.client_id),
    ] {
        assert_eq!(shown[field], value, "{field}");
    }
    assert_eq!(shown["calls"].as_array().map(Vec::len), Some(1));
    stack.advance_seconds(600);
    assert_eq!(newest(&stack).await["state"], "expired");
    stack.backend.result(&login.session_key).await;
    let shown = newest(&stack).await;
    assert_eq!(shown["calls"][1]["rule"], "result.expiry");

    stack.unredeemed_code(GOOGLE).await;
    let shown = newest(&stack).await;
    assert_eq!(shown["flow"], "legacy");
    assert_eq!(shown["state"], "code_issued");
    stack.advance_seconds(60);
    assert_eq!(newest(&stack).await["state"], "expired");
    let (transaction, code) = stack.unredeemed_code(GOOGLE).await;
    stack.backend.token(&transaction, &code).await;
    stack.advance_seconds(900);
    assert_eq!(newest(&stack).await["state"], "expired");
}
