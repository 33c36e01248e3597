//! The control API for the imitated providers: their users, their queues and their journals.

use std::path::Path;

use mock_upstream::users::KnownUsers;
use reqwest::Method;
use serde_json::{Value, json};
use stack::StackSettings;
use testkit::browser::Browser;
use testkit::http::Http;
use testkit::login::{Flow, GITHUB, GOOGLE, PROVIDERS};

use super::{get, post, put};
use crate::test_stack::TestStack;

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
