//! The control API for events, their stream, exchanges and logins.

use std::time::Duration;

use serde_json::{Value, json};

use super::{get, refuses};
use crate::login::{Flow, GITHUB, GOOGLE};
use crate::test_stack::TestStack;
use testkit::browser::Browser;
use testkit::http::client;

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
async fn events_are_listed_in_order_after_a_sequence_number() {
    let stack = TestStack::start().await;
    stack.sign_in(Flow::Clean, GOOGLE).await;
    let all = events(&stack, "").await;
    assert!(all.len() > 5);
    assert!(seqs(&all).windows(2).all(|pair| pair[0] < pair[1]));
    let middle = seqs(&all)[2];
    assert_eq!(events(&stack, &format!("?after={middle}")).await, all[3..]);
    let last = seqs(&all)[all.len() - 1];
    assert!(events(&stack, &format!("?after={last}")).await.is_empty());
    for no_seq in ["soon", "-1", "18446744073709551616"] {
        let path = format!("/api/events?after={no_seq}");
        refuses(&get(&stack, &path).await, 400, "below 2^64");
    }
}

#[tokio::test]
async fn an_event_has_caller_callee_time_and_outcome() {
    let stack = TestStack::start().await;
    let before = stack.now_ms();
    let login = stack.completed_login(GOOGLE).await;
    stack.backend.result(&login.session_key).await;
    stack.advance_seconds(5);
    stack.backend.result(&login.session_key).await;
    let shown = events(&stack, "").await;
    let [.., first, again] = &shown[..] else {
        panic!("two reads: {shown:?}");
    };
    assert!(first["at"].as_i64().expect("a time") >= before);
    assert!(again["at"].as_i64() >= first["at"].as_i64().map(|at| at + 5_000));
    let names = again.as_object().expect("an object").keys();
    let has = |name: &&str| again.get(*name).is_some();
    let promised = [
        "seq",
        "at",
        "request_id",
        "from",
        "to",
        "operation",
        "project",
        "login",
        "status",
        "rule",
        "why",
        "committed",
    ];
    assert!(promised.iter().all(has), "{names:?}");
    for (field, value) in [
        ("source", json!("audit")),
        ("from", json!("consumer")),
        ("to", json!("broker")),
        ("operation", json!("POST /v1/login/result")),
        ("project", json!(stack.backend.client_id)),
        ("login", first["login"].clone()),
        ("status", json!(400)),
        ("rule", json!("result.once")),
        ("committed", json!(false)),
    ] {
        assert_eq!(again[field], value, "{field}");
    }
    for words in ["says", "law", "advice"] {
        assert!(
            again[words].as_str().is_some_and(|it| !it.is_empty()),
            "{words}"
        );
    }
    assert_eq!(
        (&first["status"], &first["committed"]),
        (&json!(200), &json!(true))
    );
}

#[tokio::test]
async fn the_events_of_one_login_are_those_that_bear_its_name() {
    let stack = TestStack::start().await;
    stack.sign_in(Flow::Clean, GOOGLE).await;
    stack.sign_in(Flow::Legacy, GITHUB).await;
    let all = events(&stack, "").await;
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
async fn the_event_stream_sends_past_and_new_events() {
    let stack = TestStack::start().await;
    stack.backend.start_login(GOOGLE).await;
    let url = format!("{}/api/events/stream?after=0", stack.urls().control);
    let stream = client().get(&url).timeout(FOR_EVER).send().await;
    let mut stream = stream.expect("a stream");
    assert_eq!(stream.headers()["content-type"], "text/event-stream");
    assert_eq!(
        next(&mut stream).await["operation"],
        "POST /v1/login/session"
    );
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

/// The next event of a stream.
async fn next(stream: &mut reqwest::Response) -> Value {
    let mut text = String::new();
    loop {
        let chunk = stream
            .chunk()
            .await
            .expect("an open stream")
            .expect("a chunk");
        text.push_str(std::str::from_utf8(&chunk).expect("UTF-8"));
        let data = text.lines().find_map(|line| line.strip_prefix("data:"));
        if let (Some(data), true) = (data, text.ends_with("\n\n")) {
            return serde_json::from_str(data).expect("JSON");
        }
    }
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
    let asked = exchange["request"]["body"].as_str().expect("a body");
    let asked: Value = serde_json::from_str(asked).expect("JSON");
    assert_eq!(asked["client_id"], stack.backend.client_id);
    assert_eq!(asked["redirect_uri"], stack.backend.callback);
    for secret in ["client_secret", "session_key"] {
        assert!(
            asked[secret]
                .as_str()
                .is_some_and(|it| it.starts_with("[masked "))
        );
    }
    let answered = exchange["answer"]["body"].as_str().expect("a body");
    let answered: Value = serde_json::from_str(answered).expect("JSON");
    assert_eq!(answered, response.json());
    refuses(
        &get(&stack, "/api/exchanges/nothing").await,
        404,
        "request_id",
    );
}

#[tokio::test]
async fn a_refused_start_shows_the_client_and_the_callback_that_it_named() {
    let stack = TestStack::start().await;
    let callback = "http://localhost:5173/3f2504e0-4f89-11d3-9a0c-0305e82c3301/callback";
    let registered = &stack.backend;
    let mut elsewhere = registered.clone();
    elsewhere.callback = callback.to_owned();
    let mut wrong = elsewhere.clone();
    wrong.client_secret = testkit::fresh::secret();
    for (backend, rule, status) in [
        (&elsewhere, "redirect_uri.registered", 400),
        (&wrong, "client.recognised", 401),
    ] {
        let key = testkit::fresh::secret();
        let refused = backend.start_with_key(&key, GOOGLE).await;
        assert_eq!(refused.status, status);
        let exchange = refused_exchange(&stack, rule).await;
        let asked = exchange["request"]["body"].as_str().expect("a body");
        let named: Value = serde_json::from_str(asked).expect("JSON");
        assert_eq!(named["redirect_uri"], callback);
        assert_eq!(named["client_id"], registered.client_id);
        let secrets = [key, backend.client_secret.clone()];
        assert!(secrets.iter().all(|it| !exchange.to_string().contains(it)));
    }

    let visit = elsewhere.start_authorization(GOOGLE);
    let page = Browser::new().open(&visit.url).await;
    assert_eq!(page.status, 400);
    let exchange = refused_exchange(&stack, "redirect_uri.registered").await;
    let named = exchange["request"]["start"].as_str().expect("a line");
    let client_id = &registered.client_id;
    let begin = format!("GET /authorize?client_id={client_id}&redirect_uri={callback}&");
    assert!(named.starts_with(&begin), "{named}");
    assert!(!named.contains(&visit.state), "{named}");
}

/// The exchange of the last event, which broke this rule.
async fn refused_exchange(stack: &TestStack, rule: &str) -> Value {
    let last = events(stack, "").await.pop().expect("an event");
    assert_eq!(last["rule"], rule);
    let id = last["request_id"].as_str().expect("an id");
    get(stack, &format!("/api/exchanges/{id}")).await.json()
}

#[tokio::test]
async fn the_status_of_a_login_follows_its_steps() {
    let stack = TestStack::start().await;
    let login = stack.backend.start_login(GITHUB).await;
    let name = stack.event_log().logins(1).remove(0);
    let at = format!("/api/logins/{name}");
    let shown = get(&stack, &at).await.json();
    assert_eq!(shown["login"], name);
    assert_eq!(
        (&shown["flow"], &shown["state"]),
        (&json!("clean"), &json!("pending"))
    );
    assert_eq!(shown["provider"], GITHUB);
    assert_eq!(shown["project"], stack.backend.client_id);
    assert_eq!(shown["calls"].as_array().map(Vec::len), Some(1));
    stack.advance_seconds(600);
    assert_eq!(get(&stack, &at).await.json()["state"], "expired");
    assert_eq!(get(&stack, "/api/logins").await.json()[0]["login"], name);

    stack
        .backend
        .result(&login.session_key)
        .await
        .is_refusal(400);
    let shown = get(&stack, &at).await.json();
    assert_eq!(shown["calls"][1]["rule"], "result.expiry");
    refuses(
        &get(&stack, "/api/logins/unknown").await,
        404,
        "/api/logins",
    );
}

#[tokio::test]
async fn the_status_of_a_legacy_login_follows_its_steps() {
    let stack = TestStack::start().await;
    let (transaction, code) = stack.unredeemed_code(GOOGLE).await;
    let name = stack.event_log().logins(1).remove(0);
    let at = format!("/api/logins/{name}");
    assert_eq!(get(&stack, &at).await.json()["state"], "code_issued");
    let token = stack.backend.token(&transaction, &code).await;
    assert_eq!(get(&stack, &at).await.json()["state"], "redeemed");
    stack.backend.revoke(&token).await;
    let shown = get(&stack, &at).await.json();
    assert_eq!(
        (&shown["flow"], &shown["state"]),
        (&json!("legacy"), &json!("ended"))
    );

    let (transaction, code) = stack.unredeemed_code(GOOGLE).await;
    let name = stack.event_log().logins(1).remove(0);
    let at = format!("/api/logins/{name}");
    stack.backend.token(&transaction, &code).await;
    stack.advance_seconds(900);
    assert_eq!(get(&stack, &at).await.json()["state"], "expired");
}
