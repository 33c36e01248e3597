//! Sandboxes: each is a stack of its own, is bounded in number, and leaves nothing behind.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use stack::StackSettings;
use testkit::backend::Backend;
use testkit::browser::Browser;
use testkit::http::{Http, Response};
use tokio::task::JoinSet;

use super::{get, post, refuses};
use crate::login::{FLOWS, Flow, GITHUB, GOOGLE, Outcome};
use crate::test_stack::TestStack;

const CALLBACK: &str = "http://localhost:9/back";

/// A sandbox, with the backend of its only project.
struct Sandbox {
    info: Value,
    backend: Backend,
}

impl Sandbox {
    async fn start(stack: &TestStack) -> Self {
        Self::start_with(stack, json!({})).await
    }

    async fn start_with(stack: &TestStack, more: Value) -> Self {
        let mut body = json!({ "projects": [{ "name": "App", "redirect_uris": [CALLBACK] }] });
        let members = more.as_object().expect("an object").clone();
        body.as_object_mut().expect("an object").extend(members);
        let response = post(stack, "/api/sandboxes", body).await;
        assert_eq!(response.status, 201, "{}", response.text());
        let info = response.json();
        let broker = info["broker"].as_str().expect("a URL");
        let backend = Backend::of(broker, &info["projects"][0]);
        Self { info, backend }
    }

    fn text(&self, name: &str) -> &str {
        self.info[name].as_str().expect("a text")
    }

    async fn control(&self, method: Method, path: &str, body: Option<Value>) -> Response {
        let request = Http::at(self.text("control")).request(method, path);
        let request = match body {
            Some(body) => request.json(&body),
            None => request,
        };
        request.send().await
    }

    async fn advanced_seconds(&self) -> Value {
        let clock = self.control(Method::GET, "/api/clock", None).await;
        clock.json()["advanced_seconds"].clone()
    }

    async fn sign_in(&self, flow: Flow, provider: &str) -> Outcome {
        let login = flow.start(&self.backend, provider).await;
        let end = Browser::new().follow(login.url()).await;
        login.outcome(&self.backend, &end.url).await
    }
}

#[tokio::test]
async fn it_answers_with_everything_that_a_test_needs() {
    let stack = TestStack::start().await;
    let sandbox = Sandbox::start_with(&stack, json!({ "name": "checkout" })).await;
    assert_eq!(sandbox.text("id"), "s1");
    assert_eq!(sandbox.text("name"), "checkout");
    assert_eq!(sandbox.info["consumer"], Value::Null);
    let own = sandbox
        .control(Method::GET, "/api/stack", None)
        .await
        .json();
    assert_eq!(own["broker"], sandbox.info["broker"]);
    assert_eq!(own["upstreams"], sandbox.info["upstreams"]);
    let projects = sandbox.control(Method::GET, "/api/projects", None).await;
    assert_eq!(projects.json(), sandbox.info["projects"]);
    let listed = get(&stack, "/api/sandboxes").await.json();
    let one = get(&stack, "/api/sandboxes/s1").await.json();
    assert_eq!(listed, json!([one]));
    for member in ["id", "name", "control", "broker", "upstreams", "projects"] {
        assert_eq!(one[member], sandbox.info[member], "{member}");
    }
    for flow in FLOWS {
        for provider in [GOOGLE, GITHUB] {
            sandbox.sign_in(flow, provider).await.is_ada(provider);
        }
    }
}

#[tokio::test]
async fn an_empty_body_is_enough() {
    let stack = TestStack::start().await;
    let bare = stack.control(Method::POST, "/api/sandboxes", None).await;
    assert_eq!(bare.status, 201);
    assert_eq!(bare.json()["name"], "s1", "its id");
    assert_eq!(bare.json()["projects"], json!([]));
}

#[tokio::test]
async fn nothing_done_in_one_is_seen_in_another_or_in_the_stack() {
    let stack = TestStack::start().await;
    let (one, other) = (Sandbox::start(&stack).await, Sandbox::start(&stack).await);
    let seconds = json!({ "seconds": 700 });
    one.control(Method::POST, "/api/clock/advance", Some(seconds))
        .await;
    let user = json!({ "person": { "id": "4711", "username": "octo" } });
    let queued = one.control(Method::POST, "/api/upstreams/github/next", Some(user));
    assert_eq!(queued.await.status, 201);
    let fault = json!({ "operation": "GET /api/providers", "fault": "refuse" });
    let armed = one.control(Method::POST, "/api/faults", Some(fault)).await;
    assert_eq!(armed.status, 201);

    other.sign_in(Flow::Clean, GITHUB).await.is_ada(GITHUB);
    stack.sign_in(Flow::Clean, GITHUB).await.is_ada(GITHUB);
    assert_eq!(other.advanced_seconds().await, 0.0);
    assert_eq!(stack.clock().advanced_ms(), 0);
    for broker in [other.text("broker"), stack.broker()] {
        let providers = Http::at(broker).get("/api/providers").send().await;
        assert_eq!(providers.status, 200);
    }
    let events = one.control(Method::GET, "/api/events", None).await.json();
    assert_eq!(events, json!([]), "it has seen no call yet");

    // A project of one sandbox is unknown elsewhere.
    let stranger = Backend::of(stack.broker(), &one.info["projects"][0]);
    let key = testkit::fresh::secret();
    let refused = stranger.start_with_key(&key, GITHUB).await;
    assert_eq!(refused.status, 401);

    // All of it is still there, and a reset of the others leaves it.
    stack.reset().await.expect("it resets");
    other.control(Method::POST, "/api/reset", None).await;
    assert_eq!(one.advanced_seconds().await, 700.0);
    let profile = one.sign_in(Flow::Clean, GITHUB).await.profile();
    assert_eq!(profile["username"], "octo");
    let refused = Http::at(one.text("broker")).get("/api/providers");
    assert!(refused.try_send().await.is_err(), "the fault");
}

#[tokio::test]
async fn its_clock_starts_where_it_is_asked_to_and_starts_there_again() {
    let stack = TestStack::start().await;
    let start = 1_600_000_000;
    let sandbox = Sandbox::start_with(&stack, json!({ "starts_at": start })).await;
    let now = async || {
        let clock = sandbox.control(Method::GET, "/api/clock", None).await;
        clock.json()["now"].as_i64().expect("seconds")
    };
    assert!(
        (start..start + 60).contains(&now().await),
        "{}",
        now().await
    );
    // ID tokens of that time are accepted: all parts follow the same clock.
    sandbox.sign_in(Flow::Clean, GOOGLE).await.is_ada(GOOGLE);
    let seconds = json!({ "seconds": 86_400 });
    sandbox
        .control(Method::POST, "/api/clock/advance", Some(seconds))
        .await;
    assert!(now().await >= start + 86_400);
    sandbox.control(Method::POST, "/api/reset", None).await;
    assert!(
        (start..start + 120).contains(&now().await),
        "{}",
        now().await
    );
}

#[tokio::test]
async fn it_has_a_demo_and_interactive_providers_if_asked_for() {
    let stack = TestStack::start().await;
    let more = json!({ "consumer": true, "mode": "interactive" });
    let sandbox = Sandbox::start_with(&stack, more).await;
    let home = Http::new().get(sandbox.text("consumer")).send().await;
    assert_eq!(home.status, 200);
    let login = sandbox.backend.start_login(GOOGLE).await;
    let end = Browser::new().follow(&login.authorization_url).await;
    let google = sandbox.info["upstreams"]["google"].as_str().expect("a URL");
    assert!(end.url.starts_with(google), "the page waits: {}", end.url);
}

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
    let started = responses.iter().filter(|it| it.status == 201).count();
    assert_eq!(started, 3);
    for refused in responses.iter().filter(|it| it.status != 201) {
        refuses(refused, 429, "DELETE /api/sandboxes/ID");
        refuses(refused, 429, "--max-sandboxes");
    }
    let some = get(&stack, "/api/sandboxes").await.json()[0]["id"].clone();
    let path = format!("/api/sandboxes/{}", some.as_str().expect("an id"));
    assert_eq!(stack.control(Method::DELETE, &path, None).await.status, 204);
    assert_eq!(post(&stack, "/api/sandboxes", json!({})).await.status, 201);
}

#[tokio::test]
async fn after_its_end_no_server_answers_and_no_task_is_left() {
    let stack = TestStack::start().await;
    get(&stack, "/api/sandboxes").await;
    let tasks = || {
        tokio::runtime::Handle::current()
            .metrics()
            .num_alive_tasks()
    };
    let before = tasks();

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
    assert!(tasks() > before);

    end(&stack, &sandbox).await;
    for name in ["control", "broker", "consumer"] {
        assert!(is_unserved(sandbox.text(name)).await, "{name}");
    }
    for provider in [GOOGLE, GITHUB] {
        let url = sandbox.info["upstreams"][provider].as_str().expect("a URL");
        assert!(is_unserved(url).await, "{provider}");
    }
    drop(watching);
    until(async || tasks() <= before).await;
    drop(idle);

    for method in [Method::GET, Method::DELETE] {
        let ended = stack
            .control(method.clone(), "/api/sandboxes/s1", None)
            .await;
        refuses(&ended, 404, "POST /api/sandboxes makes a new one");
        for never in ["s2", "s0", "s-1", "s02", "x", "%00"] {
            let path = format!("/api/sandboxes/{never}");
            let unknown = stack.control(method.clone(), &path, None).await;
            refuses(&unknown, 404, "there is no such sandbox");
        }
    }
}

#[tokio::test]
async fn it_ends_by_itself_when_its_control_address_is_not_called() {
    let stack = TestStack::start().await;
    let brief = Sandbox::start_with(&stack, json!({ "ttl_seconds": 1 })).await;
    let lasting = Sandbox::start(&stack).await;
    // Its own clock decides nothing about its end.
    let day = json!({ "seconds": 86_400 });
    lasting
        .control(Method::POST, "/api/clock/advance", Some(day))
        .await;
    let path = format!("/api/sandboxes/{}", brief.text("id"));
    until(async || get(&stack, &path).await.status == 404).await;
    assert!(is_unserved(brief.text("broker")).await);
    let left = get(&stack, "/api/sandboxes").await.json();
    assert_eq!(left.as_array().expect("a list").len(), 1);
    assert_eq!(left[0]["id"], lasting.info["id"]);
}

#[tokio::test]
async fn its_end_moves_with_each_call_to_its_control_address() {
    let stack = TestStack::start().await;
    let sandbox = Sandbox::start(&stack).await;
    let ends_at = async || {
        let info = get(&stack, "/api/sandboxes/s1").await.json();
        info["ends_at"].as_i64().expect("seconds")
    };
    let first = ends_at().await;
    until(async || {
        sandbox.control(Method::GET, "/api/clock", None).await;
        ends_at().await > first
    })
    .await;
}

#[tokio::test]
async fn a_request_that_makes_no_sense_is_refused_with_the_field_in_its_error() {
    let stack = TestStack::start().await;
    for (body, word) in [
        (json!({ "name": "" }), "name: 1 to 80"),
        (json!({ "name": "a\u{202e}b" }), "name: 1 to 80"),
        (json!({ "name": 7 }), "name: invalid type"),
        (json!({ "ttl_seconds": 0 }), "ttl_seconds: 1 to 86400"),
        (json!({ "ttl_seconds": 86_401 }), "ttl_seconds: 1 to 86400"),
        (json!({ "ttl_seconds": -5 }), "ttl_seconds: invalid value"),
        (json!({ "starts_at": 0 }), "starts_at: Unix seconds between"),
        (
            json!({ "starts_at": i64::MAX }),
            "starts_at: Unix seconds between",
        ),
        (json!({ "starts_at": "now" }), "starts_at: invalid type"),
        (json!({ "mode": "fast" }), "mode: "),
        (json!({ "consumer": "yes" }), "consumer: invalid type"),
        (json!({ "age": 9 }), "unknown field `age`"),
        (
            json!({ "projects": [{ "name": "A", "redirect_uris": ["x"] }] }),
            "projects[0].redirect_uris[0]: ",
        ),
        (
            json!({ "projects": [{ "name": "A", "redirect_uris": [] }] }),
            "projects[0].redirect_uris must name",
        ),
    ] {
        refuses(&post(&stack, "/api/sandboxes", body).await, 400, word);
    }
    assert_eq!(get(&stack, "/api/sandboxes").await.json(), json!([]));
}

#[tokio::test]
async fn a_sandbox_refers_to_the_stack_for_more_sandboxes() {
    let stack = TestStack::start().await;
    let sandbox = Sandbox::start(&stack).await;
    for (method, path) in [
        (Method::GET, "/api/sandboxes"),
        (Method::POST, "/api/sandboxes"),
        (Method::GET, "/api/sandboxes/s1"),
    ] {
        let response = sandbox.control(method, path, None).await;
        refuses(&response, 404, &stack.urls().control);
    }
}

#[tokio::test]
async fn the_pages_of_stack_and_sandboxes_link_to_each_other() {
    let stack = TestStack::start().await;
    let page = async |control: &str| Http::new().get(control).send().await.text().to_owned();
    let stack_control = stack.urls().control.clone();
    assert!(!page(&stack_control).await.contains("Sandbox s1"));
    let one = Sandbox::start_with(&stack, json!({ "name": "<b>" })).await;
    let two = Sandbox::start(&stack).await;
    let (first, second) = (one.text("control"), two.text("control"));
    for (at, others) in [
        (&*stack_control, [first, second]),
        (first, [&*stack_control, second]),
        (second, [&*stack_control, first]),
    ] {
        let page = page(at).await;
        for other in others {
            assert!(
                page.contains(&format!("href=\"{other}/\"")),
                "{other} at {at}"
            );
        }
        assert!(!page.contains(&format!("href=\"{at}/\"")), "itself at {at}");
        assert!(!page.contains("<b>"), "names are escaped");
    }
    end(&stack, &one).await;
    assert!(!page(&stack_control).await.contains(first));
}

async fn end(stack: &TestStack, sandbox: &Sandbox) {
    let path = format!("/api/sandboxes/{}", sandbox.text("id"));
    let ended = stack.control(Method::DELETE, &path, None).await;
    assert_eq!(ended.status, 204, "{}", ended.text());
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
