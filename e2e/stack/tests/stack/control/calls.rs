//! The calls for projects, faults and the imitated providers: their users, their queues and
//! their journals.

use std::path::Path;

use mock_upstream::users::KnownUsers;
use reqwest::Method;
use serde_json::{Value, json};
use stack::StackSettings;
use testkit::backend::Backend;
use testkit::browser::Browser;
use testkit::http::{Http, REFUSED, Response};
use testkit::login::{Flow, GITHUB, GOOGLE, PROVIDERS};

use super::{get, post, put};
use crate::test_stack::TestStack;

/// Registers a project, whose answer has four members, and returns its backend.
async fn register(stack: &TestStack, name: &str, more: Value) -> Backend {
    let mut new = json!({ "name": name, "redirect_uris": [stack.backend.callback] });
    let more = more.as_object().expect("an object").clone();
    new.as_object_mut().expect("an object").extend(more);
    let response = post(stack, "/api/projects", new).await;
    assert_eq!(response.status, 201, "{}", response.text());
    let project = response.json();
    assert_eq!(project["name"], name.trim());
    let members = project.as_object().expect("an object").len();
    assert_eq!(members, 4, "the guard is not shown: {project}");
    Backend::of(stack.broker(), &project)
}

async fn visit(backend: &Backend) -> u16 {
    let login = backend.start_login(GOOGLE).await;
    Browser::new().open(&login.authorization_url).await.status
}

#[tokio::test]
async fn a_new_project_signs_users_in_at_once_by_its_relay_guard() {
    let stack = TestStack::start().await;
    let elsewhere = json!(["http://localhost:10"]);
    for (more, status) in [
        (json!({}), 303),
        (json!({ "relay_guard": "auto" }), 303),
        (json!({ "relay_guard": "always" }), 200),
        (json!({ "start_origins": elsewhere }), 200),
        (
            json!({ "relay_guard": "off", "start_origins": elsewhere }),
            303,
        ),
    ] {
        let backend = register(&stack, " 語 🦀 ", more.clone()).await;
        assert_eq!(visit(&backend).await, status, "{more}");
        // A callback that is allowed later keeps the guard.
        let path = format!("/api/projects/{}/callbacks", backend.client_id);
        let late = json!({ "redirect_uri": "http://localhost:9/late" });
        assert_eq!(post(&stack, &path, late).await.status, 200);
        assert_eq!(visit(&backend).await, status, "{more}");
    }
}

#[tokio::test]
async fn a_callback_is_accepted_and_listed_from_the_moment_it_is_allowed() {
    let stack = TestStack::start().await;
    let late = Backend {
        callback: "http://localhost:9/late".to_owned(),
        ..stack.backend.clone()
    };
    let start = async || late.start_with_key(&testkit::fresh::secret(), GOOGLE).await;
    start().await.is(400, REFUSED);
    let path = format!("/api/projects/{}/callbacks", late.client_id);
    let project = json!({
        "name": "A test's app",
        "client_id": late.client_id,
        "client_secret": late.client_secret,
        "redirect_uris": [stack.backend.callback, late.callback],
    });
    for _ in 0..2 {
        let allowed = post(&stack, &path, json!({ "redirect_uri": late.callback })).await;
        allowed.is_json(200, &project);
    }
    let listed = get(&stack, "/api/projects").await.json();
    assert_eq!(listed.as_array().map(Vec::len), Some(2));
    assert_eq!(
        (&listed[0]["client_id"], &listed[1]),
        (&json!("demo"), &project)
    );
    assert_eq!(start().await.status, 200);
    stack.reset().await.expect("a fresh broker");
    assert_eq!(start().await.status, 200);
    stack.backend.start_login(GOOGLE).await;
}

const RESULT: &str = "POST /v1/login/result";

async fn arm(stack: &TestStack, body: Value) -> Response {
    let armed = post(stack, "/api/faults", body).await;
    assert_eq!(armed.status, 201, "{}", armed.text());
    armed
}

#[tokio::test]
async fn the_faults_that_there_are_are_listed_as_they_are_documented() {
    let stack = TestStack::start().await;
    let listed = get(&stack, "/api/fault-kinds").await.json();
    let listed = listed.as_array().expect("a list").iter();
    let row = |it: &Value| format!("| {} | {} | {} |\n", it["name"], it["client"], it["broker"]);
    let rows: String = listed.map(row).collect();
    let table = format!("|---|---|---|\n{rows}\n").replace('"', "");
    let document = include_str!("../../../../../docs/CONTROL.md").replace(['`', '*'], "");
    assert!(document.contains(&table), "{table}");
}

#[tokio::test]
async fn a_fault_is_listed_until_it_triggers_once() {
    let stack = TestStack::start().await;
    let login = stack.completed_login(GOOGLE).await;
    let armed = arm(&stack, json!({ "operation": RESULT, "fault": "html_502" })).await;
    let listed = get(&stack, "/api/faults").await.json();
    assert_eq!(listed[0]["id"], armed.json()["id"]);
    assert_eq!(listed[0]["passes"], 0);
    let read = async || stack.backend.result(&login.session_key).await;
    assert_eq!(read().await.status, 502);
    get(&stack, "/api/faults").await.is(200, "[]");
    read().await.is(400, REFUSED);
}

#[tokio::test]
async fn a_sticky_fault_is_listed_and_stays_with_its_login_until_faults_are_taken_back() {
    let stack = TestStack::start().await;
    let unlucky = stack.completed_login(GOOGLE).await;
    let other = stack.completed_login(GOOGLE).await;
    let mut listed = json!({
        "operation": RESULT,
        "fault": "refuse",
        "client_id": stack.backend.client_id,
    });
    let mut order = listed.clone();
    (order["nth"], order["sticky"]) = (json!(1), json!(true));
    listed["id"] = arm(&stack, order.clone()).await.json()["id"].clone();
    (listed["passes"], listed["sticks_to"]) = (json!(0), Value::Null);
    assert_eq!(get(&stack, "/api/faults").await.json(), json!([listed]));
    for _ in 0..3 {
        let read = stack.backend.request(Method::POST, "/v1/login/result");
        let read = read.json(&stack.backend.result_body(&unlucky.session_key));
        assert!(read.try_send().await.is_err());
    }
    let event = stack.event_log().events(0, None).pop().expect("the fault");
    (listed["passes"], listed["sticks_to"]) = (Value::Null, json!(event.login));
    assert_eq!(get(&stack, "/api/faults").await.json(), json!([listed]));
    assert_eq!(stack.backend.result(&other.session_key).await.status, 200);
    assert_ne!(arm(&stack, order).await.json()["id"], listed["id"]);
    let cleared = stack.control(Method::DELETE, "/api/faults", None).await;
    assert_eq!(cleared.status, 204);
    get(&stack, "/api/faults").await.is(200, "[]");
    assert_eq!(stack.backend.result(&unlucky.session_key).await.status, 200);
}

#[tokio::test]
async fn another_answer_arrives_with_its_status_headers_and_body() {
    let stack = TestStack::start().await;
    let order =
        |answer| json!({ "operation": "GET /api/providers", "fault": "answer", "answer": answer });
    // Escaped, the largest body is six times as long.
    let largest = "\u{1}".repeat(64 * 1024);
    let elsewhere = "http://localhost:9/";
    for (status, body, received) in [
        (503, &*largest, &*largest),
        (307, "over there", "over there"),
        (204, "over there", ""),
        (304, "over there", ""),
    ] {
        let headers = json!({ "location": elsewhere, "Set-Cookie": "a=b", "Content-Type": "x/y" });
        let answer = json!({ "status": status, "headers": headers, "body": body });
        arm(&stack, order(answer)).await;
        let answer = stack.backend.providers().await;
        assert_eq!((answer.status, answer.text()), (status, received));
        assert_eq!(answer.location(), Some(elsewhere));
        assert_eq!(answer.set_cookies(), ["a=b"]);
        assert_eq!(answer.header("content-type"), Some("x/y"));
        assert_eq!(answer.header("x-request-id"), None);
        let fault = stack.event_log().events(0, None).pop();
        assert_eq!(fault.expect("the fault").status, Some(status));
    }
    arm(&stack, order(json!({ "status": 200 }))).await;
    stack.backend.providers().await.is(200, "");
}

/// A people file of the user's own.
const SAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/people.toml");

#[tokio::test]
async fn the_switches_of_a_provider_can_be_read_and_restored() {
    let stack = TestStack::start().await;
    for provider in PROVIDERS {
        let path = format!("/api/upstreams/{provider}");
        let switches = async || get(&stack, &path).await.json();
        let set = async |it: &Value| put(&stack, &path, it.clone()).await.is(204, "").status;
        let before = switches().await;
        for iss in ["on", "off", "errors"] {
            for mode in ["interactive", "automatic"] {
                let changed = json!({ "mode": mode, "iss": iss });
                set(&changed).await;
                assert_eq!(switches().await, changed);
                let login = stack.backend.start_login(provider).await;
                let end = Browser::new().follow(&login.authorization_url).await;
                let is_asked = end.url.starts_with(stack.provider(provider).url());
                assert_eq!(is_asked, mode == "interactive", "{}", end.url);
            }
            let halfway = stack.halfway(Flow::Clean, provider).await;
            assert_eq!(halfway.answer.contains("iss="), iss != "off", "{iss}");
        }
        set(&before).await;
        assert_eq!(switches().await, before);
    }
}

#[tokio::test]
async fn logins_go_on_while_googles_keys_are_rotated() {
    let stack = TestStack::start().await;
    stack.sign_in(Flow::Clean, GOOGLE).await.is_ada(GOOGLE);
    for _ in 0..2 {
        let path = "/api/upstreams/google/keys/rotate";
        stack.control(Method::POST, path, None).await.is(204, "");
        // The broker asks for keys it does not know at most once a while.
        stack.advance_seconds(3_600);
        stack.sign_in(Flow::Clean, GOOGLE).await.is_ada(GOOGLE);
    }
}

#[tokio::test]
async fn a_queued_user_signs_in_once_and_the_default_user_after_that() {
    let users = KnownUsers::with_people(Path::new(SAMPLE)).expect("the sample");
    let stack = TestStack::start_with(StackSettings {
        users,
        ..StackSettings::for_tests()
    })
    .await;
    let someone = json!({
        "id": "42",
        "name": "Someone",
        "username": "someone",
        "email": "someone@people.example",
        "email_verified": true,
        "picture": "https://pictures.example/42",
    });
    let nobody = json!({ "id": "43" });
    let (marie, pierre) = (json!({ "key": "marie" }), json!({ "key": "pierre" }));
    for (provider, person, subject, email) in [
        (GOOGLE, &someone, "42", json!("someone@people.example")),
        (GITHUB, &someone, "42", json!("someone@people.example")),
        (GOOGLE, &nobody, "43", Value::Null),
        (GITHUB, &nobody, "43", Value::Null),
        (
            GOOGLE,
            &marie,
            "100000000000000000042",
            json!("marie@example.com"),
        ),
        (GITHUB, &marie, "4711", json!("marie@example.com")),
        (GITHUB, &pierre, "4712", json!("pierre@example.com")),
    ] {
        let path = format!("/api/upstreams/{provider}/next");
        let queued = post(&stack, &path, json!({ "person": person })).await;
        assert_eq!(queued.status, 201, "{}", queued.text());
        let profile = stack.sign_in(Flow::Clean, provider).await.profile();
        assert_eq!(profile["providerSubject"], subject, "{person}");
        assert_eq!(profile["email"], email, "{person}");
        stack.sign_in(Flow::Legacy, provider).await.is_ada(provider);
    }
    // A sandbox has the people of its stack.
    let sandbox = post(&stack, "/api/sandboxes", json!({})).await.json();
    let control = sandbox["control"].as_str().expect("its control address");
    let next = Http::at(control).post("/api/upstreams/github/next");
    let queued = next.json(&json!({ "person": pierre })).send();
    assert_eq!(queued.await.status, 201);
}
