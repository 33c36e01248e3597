//! The control API for the imitated providers: their queues and their journals.

use mock_upstream::Misbehaviour;
use reqwest::Method;
use serde_json::{Value, json};
use std::collections::HashSet;

use super::{get, post, put, refuses};
use crate::login::{Flow, GOOGLE, PROVIDERS};
use crate::test_stack::TestStack;
use testkit::browser::Browser;

#[tokio::test]
async fn a_provider_can_be_made_to_ask_and_to_answer_by_itself() {
    let stack = TestStack::start().await;
    for provider in PROVIDERS {
        let path = format!("/api/upstreams/{provider}");
        put(&stack, &path, json!({ "mode": "interactive" }))
            .await
            .is(204, "");
        let login = stack.backend.start_login(provider).await;
        let end = Browser::new().follow(&login.authorization_url).await;
        assert!(
            end.url.starts_with(stack.provider(provider).url()),
            "{}",
            end.url
        );
        assert_eq!(end.response.expect("a page").status, 200);

        put(&stack, &path, json!({ "mode": "automatic" }))
            .await
            .is(204, "");
        stack.sign_in(Flow::Clean, provider).await.is_ada(provider);
    }
}

#[tokio::test]
async fn the_switches_of_a_provider_can_be_read_and_restored() {
    let stack = TestStack::start().await;
    for provider in PROVIDERS {
        let path = format!("/api/upstreams/{provider}");
        let switches = async || get(&stack, &path).await.json();
        let before = switches().await;
        for iss in ["on", "off", "errors"] {
            for mode in ["interactive", "automatic"] {
                let changed = json!({ "mode": mode, "iss": iss });
                put(&stack, &path, changed.clone()).await.is(204, "");
                assert_eq!(switches().await, changed);
            }
        }
        put(&stack, &path, before.clone()).await.is(204, "");
        assert_eq!(switches().await, before);
    }
    refuses(&get(&stack, "/api/upstreams/gitlab").await, 400, "google");
}

#[tokio::test]
async fn the_issuer_in_the_callback_can_be_switched() {
    let stack = TestStack::start().await;
    for provider in PROVIDERS {
        let path = format!("/api/upstreams/{provider}");
        for (switch, success, error) in [
            ("off", false, false),
            ("on", true, false),
            ("errors", true, true),
        ] {
            put(&stack, &path, json!({ "iss": switch }))
                .await
                .is(204, "");
            let halfway = stack.halfway(Flow::Clean, provider).await;
            assert_eq!(halfway.answer.contains("iss="), success, "{switch}");
            halfway.finish(&stack.backend).await.is_ada(provider);

            stack.queue_misbehaviour(provider, Misbehaviour::Deny);
            let halfway = stack.halfway(Flow::Clean, provider).await;
            assert_eq!(halfway.answer.contains("iss="), error, "{switch}");
            halfway
                .finish(&stack.backend)
                .await
                .is_error("access_denied");
        }
    }
}

#[tokio::test]
async fn logins_go_on_while_googles_keys_are_rotated() {
    let stack = TestStack::start().await;
    stack.sign_in(Flow::Clean, GOOGLE).await.is_ada(GOOGLE);
    for _ in 0..3 {
        let rotated = stack
            .control(Method::POST, "/api/upstreams/google/keys/rotate", None)
            .await;
        rotated.is(204, "");
        // The broker asks for keys it does not know at most once a while.
        stack.advance_seconds(3_600);
        stack.sign_in(Flow::Clean, GOOGLE).await.is_ada(GOOGLE);
    }
}

#[tokio::test]
async fn a_queued_user_signs_in_once_and_the_default_user_after_that() {
    let stack = TestStack::start().await;
    for provider in PROVIDERS {
        let path = format!("/api/upstreams/{provider}/next");
        let person = json!({
            "id": "42",
            "name": "Someone",
            "username": "someone",
            "email": "someone@people.example",
            "email_verified": true,
            "picture": "https://pictures.example/42",
        });
        let bare = json!({ "id": "43" });
        for person in [person, bare] {
            let queued = post(&stack, &path, json!({ "person": person })).await;
            assert_eq!(queued.status, 201, "{}", queued.text());
        }
        let first = stack.sign_in(Flow::Clean, provider).await.profile();
        assert_eq!(first["name"], "Someone");
        assert_eq!(first["emailVerified"], true);
        let second = stack.sign_in(Flow::Legacy, provider).await.profile();
        assert_eq!(second["providerSubject"], "43");
        assert_eq!(second["email"], Value::Null);
        stack.sign_in(Flow::Clean, provider).await.is_ada(provider);
    }
}

#[tokio::test]
async fn every_misbehaviour_is_documented() {
    let stack = TestStack::start().await;
    for provider in PROVIDERS {
        let path = format!("/api/upstreams/{provider}/misbehaviours");
        let documented = get(&stack, &path).await.json();
        let documented = documented.as_array().expect("a list");
        for misbehaviour in documented {
            let members = misbehaviour.as_object().expect("an object").keys();
            let members: HashSet<_> = members.map(String::as_str).collect();
            assert_eq!(members, HashSet::from(["name", "says", "error"]));
            let says = misbehaviour["says"].as_str();
            assert!(says.is_some_and(|says| says.ends_with('.')));
        }
    }
}

#[tokio::test]
async fn the_journal_shows_requests_without_secrets() {
    let stack = TestStack::start().await;
    for provider in PROVIDERS {
        let halfway = stack.halfway(Flow::Clean, provider).await;
        halfway.finish(&stack.backend).await.is_ada(provider);
        let journal = get(&stack, &format!("/api/upstreams/{provider}/requests")).await;
        assert_eq!(journal.status, 200);
        let code = url::Url::parse(&halfway.answer).expect("a URL");
        let (_, code) = code
            .query_pairs()
            .find(|(name, _)| name == "code")
            .expect("a code");
        assert!(!journal.text().contains(&*code));
        assert!(journal.text().contains("[masked]"));
        let entries = journal.json();
        let entries = entries.as_array().expect("a list");
        let tokens: Vec<_> = entries
            .iter()
            .filter(|entry| entry["method"] == "POST")
            .collect();
        assert_eq!(tokens.len(), 1);
        assert_eq!(tokens[0]["status"], 200);
        assert_eq!(tokens[0]["query"], "");
        assert!(tokens[0]["at"].is_i64());
    }
}
