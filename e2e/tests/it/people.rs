//! The sample of a people file, in the whole stack.

use std::path::Path;

use mock_upstream::users::KnownUsers;
use serde_json::{Value, json};
use stack::StackSettings;
use testkit::http::Http;

use crate::control::{post, refuses};
use crate::login::{FLOWS, Flow, GITHUB, GOOGLE, PROVIDERS};
use crate::test_stack::TestStack;

const SAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/people.toml");

async fn stack() -> TestStack {
    let users = KnownUsers::with_people(Path::new(SAMPLE)).expect("the sample");
    TestStack::start_with(StackSettings {
        users,
        ..StackSettings::for_tests()
    })
    .await
}

async fn sign_in(stack: &TestStack, flow: Flow, provider: &str, key: &str) -> Value {
    let path = format!("/api/upstreams/{provider}/next");
    let queued = post(stack, &path, json!({ "person": { "key": key } })).await;
    assert_eq!(queued.status, 201, "{}", queued.text());
    stack.sign_in(flow, provider).await.profile()
}

#[tokio::test]
async fn the_people_of_the_sample_sign_in_by_their_keys() {
    let stack = stack().await;
    for flow in FLOWS {
        let marie = sign_in(&stack, flow, GOOGLE, "marie").await;
        assert_eq!(marie["providerSubject"], "100000000000000000042");
        assert_eq!(marie["name"], "Marie Curie");
        assert_eq!(marie["emailVerified"], true);
        let marie = sign_in(&stack, flow, GITHUB, "marie").await;
        assert_eq!(marie["providerSubject"], "4711");
        let pierre = sign_in(&stack, flow, GITHUB, "pierre").await;
        assert_eq!(pierre["providerSubject"], "4712");
        for provider in PROVIDERS {
            let alan = sign_in(&stack, flow, provider, "alan").await;
            assert_eq!(alan["name"], "Alan Turing");
        }
    }
}

#[tokio::test]
async fn a_sandbox_has_the_people_of_its_stack() {
    let stack = stack().await;
    let sandbox = post(&stack, "/api/sandboxes", json!({})).await.json();
    let control = sandbox["control"].as_str().expect("its control address");
    let next = Http::at(control).post("/api/upstreams/github/next");
    let queued = next.json(&json!({ "person": { "key": "pierre" } })).send();
    assert_eq!(queued.await.status, 201);
}

#[tokio::test]
async fn a_person_without_an_account_there_or_with_more_than_a_key_is_refused() {
    let stack = stack().await;
    for (person, word) in [
        (
            json!({ "key": "pierre" }),
            "key: Google has no user with this key",
        ),
        (
            json!({ "key": "" }),
            "key: Google has no user with this key",
        ),
        (json!({ "key": 5 }), "key: a string without other members"),
        (
            json!({ "key": "marie", "id": "7" }),
            "key: a string without other members",
        ),
    ] {
        let body = json!({ "person": person });
        let response = post(&stack, "/api/upstreams/google/next", body).await;
        refuses(&response, 400, word);
    }
    assert!(stack.upstream().google().queued().is_empty());
}
