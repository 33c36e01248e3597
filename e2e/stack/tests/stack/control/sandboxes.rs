//! Sandboxes: each is a stack of its own. Their number and their end are in `end`, those of a
//! class in `class`.

mod class;
mod end;

use reqwest::Method;
use serde_json::{Value, json};
use testkit::backend::Backend;
use testkit::browser::Browser;
use testkit::http::{Http, Response};
use testkit::login::{FLOWS, Flow, GITHUB, GOOGLE, Outcome, PROVIDERS};

use super::{get, post, refuses};
use crate::test_stack::{TestStack, sign_in};

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

    fn request(&self, method: Method, path: &str) -> testkit::http::Request {
        Http::at(self.text("control")).request(method, path)
    }

    async fn get(&self, path: &str) -> Response {
        self.request(Method::GET, path).send().await
    }

    /// Makes a call that succeeds.
    async fn post(&self, path: &str, body: Value) {
        let posted = self.request(Method::POST, path).json(&body).send().await;
        assert!(posted.status < 300, "{}", posted.text());
    }

    async fn advanced_seconds(&self) -> Value {
        self.get("/api/clock").await.json()["advanced_seconds"].clone()
    }

    async fn now(&self) -> i64 {
        let clock = self.get("/api/clock").await.json();
        clock["now"].as_i64().expect("seconds")
    }

    async fn sign_in(&self, flow: Flow, provider: &str) -> Outcome {
        sign_in(&self.backend, flow, provider).await
    }

    async fn end(&self, stack: &TestStack) {
        let path = format!("/api/sandboxes/{}", self.text("id"));
        let ended = stack.control(Method::DELETE, &path, None).await;
        assert_eq!(ended.status, 204, "{}", ended.text());
    }
}

#[tokio::test]
async fn it_answers_with_everything_that_a_test_needs() {
    let stack = TestStack::start().await;
    let sandbox = Sandbox::start_with(&stack, json!({ "name": "checkout" })).await;
    assert_eq!(sandbox.text("id"), "s1");
    assert_eq!(sandbox.text("name"), "checkout");
    assert_eq!(sandbox.info["consumer"], Value::Null);
    let own = sandbox.get("/api/stack").await.json();
    assert_eq!(own["broker"], sandbox.info["broker"]);
    assert_eq!(own["upstreams"], sandbox.info["upstreams"]);
    let projects = sandbox.get("/api/projects").await.json();
    assert_eq!(projects, sandbox.info["projects"]);
    let one = get(&stack, "/api/sandboxes/s1").await.json();
    assert_eq!(get(&stack, "/api/sandboxes").await.json(), json!([one]));
    for member in ["id", "name", "control", "broker", "upstreams", "projects"] {
        assert_eq!(one[member], sandbox.info[member], "{member}");
    }
    for flow in FLOWS {
        for provider in PROVIDERS {
            sandbox.sign_in(flow, provider).await.is_ada(provider);
        }
    }

    // An empty body is enough.
    let bare = stack.control(Method::POST, "/api/sandboxes", None).await;
    assert_eq!(bare.status, 201);
    assert_eq!(bare.json()["name"], "s2", "its id");
    assert_eq!(bare.json()["projects"], json!([]));
}

#[tokio::test]
async fn nothing_done_in_one_is_seen_in_another_or_in_the_stack() {
    let stack = TestStack::start().await;
    let (one, other) = (Sandbox::start(&stack).await, Sandbox::start(&stack).await);
    one.post("/api/clock/advance", json!({ "seconds": 700 }))
        .await;
    let user = json!({ "person": { "id": "4711", "username": "octo" } });
    one.post("/api/upstreams/github/next", user).await;
    let fault = json!({ "operation": "GET /api/providers", "fault": "refuse" });
    one.post("/api/faults", fault).await;

    other.sign_in(Flow::Clean, GITHUB).await.is_ada(GITHUB);
    stack.sign_in(Flow::Clean, GITHUB).await.is_ada(GITHUB);
    assert_eq!(other.advanced_seconds().await, 0.0);
    assert_eq!(stack.clock().advanced_ms(), 0);
    for broker in [other.text("broker"), stack.broker()] {
        let providers = Http::at(broker).get("/api/providers").send().await;
        assert_eq!(providers.status, 200);
    }
    one.get("/api/events").await.is(200, "[]");

    // A project of one sandbox is unknown elsewhere.
    let stranger = Backend::of(stack.broker(), &one.info["projects"][0]);
    let key = testkit::fresh::secret();
    let refused = stranger.start_with_key(&key, GITHUB).await;
    assert_eq!(refused.status, 401);

    // All of it is still there, and a reset of the others leaves it.
    stack.reset().await.expect("it resets");
    other.post("/api/reset", Value::Null).await;
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
    assert!((start..start + 60).contains(&sandbox.now().await));
    // ID tokens of that time are accepted: all parts follow the same clock.
    sandbox.sign_in(Flow::Clean, GOOGLE).await.is_ada(GOOGLE);
    let day = json!({ "seconds": 86_400 });
    sandbox.post("/api/clock/advance", day).await;
    assert!(sandbox.now().await >= start + 86_400);
    sandbox.post("/api/reset", Value::Null).await;
    assert!((start..start + 120).contains(&sandbox.now().await));
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
async fn a_sandbox_refers_to_the_stack_for_more_sandboxes() {
    let stack = TestStack::start().await;
    let sandbox = Sandbox::start(&stack).await;
    for (method, path) in [
        (Method::GET, "/api/sandboxes"),
        (Method::POST, "/api/sandboxes"),
        (Method::GET, "/api/sandboxes/s1"),
    ] {
        let response = sandbox.request(method, path).send().await;
        refuses(&response, 404, &stack.urls().control);
    }
}

#[tokio::test]
async fn the_pages_of_stack_and_sandboxes_link_to_each_other() {
    let stack = TestStack::start().await;
    let page = async |control: &str| Http::new().get(control).send().await.text().to_owned();
    let stack_control = stack.urls().control.as_str();
    assert!(!page(stack_control).await.contains("Sandbox s1"));
    let one = Sandbox::start_with(&stack, json!({ "name": "<b>" })).await;
    let two = Sandbox::start(&stack).await;
    let (first, second) = (one.text("control"), two.text("control"));
    for at in [stack_control, first, second] {
        let page = page(at).await;
        for other in [stack_control, first, second] {
            let is_linked = page.contains(&format!("href=\"{other}/\""));
            assert_eq!(is_linked, other != at, "{other} at {at}");
        }
        assert!(!page.contains("<b>"), "names are escaped");
    }
    for (at, labels) in [
        (stack_control, ["Inspector", "2 sandboxes"]),
        (second, ["Sandbox s2", "The stack and 1 more"]),
        (first, ["Sandbox s1 (&#60;b&#62;)", "The stack and 1 more"]),
    ] {
        let page = page(at).await;
        assert!(labels.iter().all(|label| page.contains(label)), "{page}");
    }
    one.end(&stack).await;
    assert!(!page(stack_control).await.contains(first));
}
