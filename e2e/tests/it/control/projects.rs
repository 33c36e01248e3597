//! The control API for projects.

use serde_json::{Value, json};

use super::{get, post, refuses};
use crate::login::GOOGLE;
use crate::test_stack::TestStack;
use testkit::backend::Backend;
use testkit::browser::Browser;
use testkit::http::REFUSED;

#[tokio::test]
async fn it_lists_every_project_with_its_secret() {
    let stack = TestStack::start().await;
    let projects = get(&stack, "/api/projects").await.json();
    let projects = projects.as_array().expect("a list");
    assert_eq!(projects.len(), 2);
    assert_eq!(projects[0]["client_id"], "demo");
    assert_eq!(
        projects[1],
        json!({
            "name": "A test's app",
            "client_id": stack.backend.client_id,
            "client_secret": stack.backend.client_secret,
            "redirect_uris": [stack.backend.callback],
        })
    );
}

#[tokio::test]
async fn a_new_project_can_sign_in_at_once() {
    let stack = TestStack::start().await;
    let new = json!({ "name": "New", "redirect_uris": ["http://localhost:9/new"] });
    let response = post(&stack, "/api/projects", new).await;
    assert_eq!(response.status, 201);
    let backend = Backend::of(stack.broker(), &response.json());
    let login = backend.start_login(GOOGLE).await;
    let end = Browser::new().follow(&login.authorization_url).await;
    assert_eq!(end.url, "http://localhost:9/new");
}

#[tokio::test]
async fn a_new_project_sets_its_relay_guard() {
    let stack = TestStack::start().await;
    let visit = async |more: Value| {
        let mut new = json!({ "name": "New", "redirect_uris": [stack.backend.callback] });
        new.as_object_mut()
            .expect("an object")
            .extend(more.as_object().expect("another").clone());
        let response = post(&stack, "/api/projects", new).await;
        assert_eq!(response.status, 201, "{}", response.text());
        let mut names: Vec<_> = response
            .json()
            .as_object()
            .expect("it")
            .keys()
            .cloned()
            .collect();
        names.sort();
        let shown = ["client_id", "client_secret", "name", "redirect_uris"];
        assert_eq!(names, shown, "the guard is not shown");
        let backend = Backend::of(stack.broker(), &response.json());
        let login = backend.start_login(GOOGLE).await;
        Browser::new().open(&login.authorization_url).await.status
    };
    assert_eq!(visit(json!({})).await, 303);
    assert_eq!(visit(json!({ "relay_guard": "auto" })).await, 303);
    assert_eq!(visit(json!({ "relay_guard": "always" })).await, 200);
    let elsewhere = json!(["http://localhost:10"]);
    assert_eq!(visit(json!({ "start_origins": elsewhere })).await, 200);
    let off = json!({ "relay_guard": "off", "start_origins": elsewhere });
    assert_eq!(visit(off).await, 303);
}

#[tokio::test]
async fn a_guard_that_cannot_be_is_refused() {
    let stack = TestStack::start().await;
    for (field, value, says) in [
        ("relay_guard", json!("on"), "`auto`, `always`, `off`"),
        ("start_origins", json!([]), "start_origins"),
        ("start_origins", json!("http://localhost:9"), "sequence"),
        (
            "start_origins",
            json!(["http://localhost:9/"]),
            "start_origins",
        ),
        (
            "start_origins",
            json!(["http://a.example"]),
            "start_origins",
        ),
        ("select_account", json!("always"), "select_account"),
    ] {
        let mut new = json!({ "name": "New", "redirect_uris": [stack.backend.callback] });
        new[field] = value;
        refuses(&post(&stack, "/api/projects", new).await, 400, says);
    }
}

// Threats: A34.
#[tokio::test]
async fn a_name_that_does_not_print_or_is_no_name_is_refused() {
    let stack = TestStack::start().await;
    for name in [
        "",
        "  ",
        "a\nb",
        "a\u{1b}[2Jb",
        "a\u{0}",
        "a\u{202E}b",
        "a\u{FFFF}",
        &"x".repeat(81),
        &"x".repeat(5_000),
    ] {
        let new = json!({ "name": name, "redirect_uris": [stack.backend.callback] });
        let response = post(&stack, "/api/projects", new).await;
        refuses(
            &response,
            400,
            "a project's name has 1 to 80 printable characters",
        );
    }
    let projects = get(&stack, "/api/projects").await.json();
    assert_eq!(projects.as_array().map(Vec::len), Some(2));
    let new = json!({ "name": " 語 🦀 ", "redirect_uris": [stack.backend.callback] });
    let response = post(&stack, "/api/projects", new).await;
    assert_eq!(
        (response.status, &response.json()["name"]),
        (201, &json!("語 🦀"))
    );
}

#[tokio::test]
async fn a_project_without_a_permissible_callback_is_refused() {
    let stack = TestStack::start().await;
    for redirect_uris in [
        json!([]),
        json!(["http://app.example/back"]),
        json!(["https://app.example/back?x=1"]),
        json!(["https://app.example/back", "ftp://app.example"]),
        json!("https://app.example/back"),
    ] {
        let new = json!({ "name": "New", "redirect_uris": redirect_uris });
        refuses(&post(&stack, "/api/projects", new).await, 400, "");
    }
    let unknown = json!({ "name": "New", "redirect_uris": ["https://a.example/"], "admin": true });
    refuses(&post(&stack, "/api/projects", unknown).await, 400, "admin");
    let projects = get(&stack, "/api/projects").await.json();
    assert_eq!(projects.as_array().map(Vec::len), Some(2));
}

#[tokio::test]
async fn a_callback_is_accepted_from_the_moment_it_is_allowed() {
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
        assert_eq!((allowed.status, allowed.json()), (200, project.clone()));
    }
    assert_eq!(get(&stack, "/api/projects").await.json()[1], project);
    assert_eq!(start().await.status, 200);
    stack.reset().await.expect("a fresh broker");
    assert_eq!(start().await.status, 200);
    assert_eq!(
        stack.backend.start_login(GOOGLE).await.session_key.len(),
        43
    );
}

#[tokio::test]
async fn a_callback_keeps_the_relay_guard_of_its_project() {
    let stack = TestStack::start().await;
    let new =
        json!({ "name": "New", "redirect_uris": ["http://localhost:9/"], "relay_guard": "always" });
    let project = post(&stack, "/api/projects", new).await.json();
    let backend = Backend::of(stack.broker(), &project);
    let path = format!("/api/projects/{}/callbacks", backend.client_id);
    let allowed = post(
        &stack,
        &path,
        json!({ "redirect_uri": "http://localhost:9/late" }),
    )
    .await;
    assert_eq!(allowed.status, 200);
    let login = backend.start_login(GOOGLE).await;
    let page = Browser::new().open(&login.authorization_url).await;
    assert_eq!(page.status, 200, "it asks the user");
}

#[tokio::test]
async fn a_callback_that_cannot_be_allowed_is_refused() {
    let stack = TestStack::start().await;
    let callback = json!({ "redirect_uri": "http://localhost:9/late" });
    let unknown = post(&stack, "/api/projects/unknown/callbacks", callback).await;
    refuses(&unknown, 404, "GET /api/projects");
    let path = format!("/api/projects/{}/callbacks", stack.backend.client_id);
    for (body, says) in [
        (json!({}), "redirect_uri"),
        (json!({ "redirect_uri": 5 }), "redirect_uri"),
        (
            json!({ "redirect_uri": "http://app.example/back" }),
            "redirect_uri",
        ),
        (
            json!({ "redirect_uri": "https://app.example/back?x" }),
            "redirect_uri",
        ),
        (
            json!({ "redirect_uris": ["https://app.example/"] }),
            "redirect_uris",
        ),
    ] {
        refuses(&post(&stack, &path, body).await, 400, says);
    }
    let projects = get(&stack, "/api/projects").await.json();
    assert_eq!(
        projects[1]["redirect_uris"],
        json!([stack.backend.callback])
    );
}
