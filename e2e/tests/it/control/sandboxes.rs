//! Sandboxes: each is a stack of its own. Their number and their end are in `end`.

mod end;

use reqwest::Method;
use serde_json::{Value, json};
use testkit::backend::Backend;
use testkit::browser::Browser;
use testkit::http::{Http, Response};

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
