//! The control API for projects.

use serde_json::{Value, json};
use testkit::backend::Backend;
use testkit::browser::Browser;
use testkit::http::REFUSED;
use testkit::login::GOOGLE;

use super::{get, post};
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
