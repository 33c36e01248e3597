//! A reset, which leaves nothing of the state before it.

use mock_upstream::Misbehaviour;
use reqwest::Method;
use serde_json::{Value, json};
use stack::faults::{Fault, FaultInjection};
use testkit::browser::{Browser, UNSERVED};
use testkit::http::Http;
use testkit::login::{FLOWS, Flow, GOOGLE, PROVIDERS};

use super::{get, put};
use crate::test_stack::TestStack;

#[tokio::test]
async fn nothing_of_the_time_before_a_reset_is_left() {
    let stack = TestStack::start().await;
    stack.advance_seconds(10_000);
    let started = stack.backend.start_login(GOOGLE).await;
    let completed = stack.completed_login(GOOGLE).await;
    let (transaction, code) = stack.unredeemed_code(GOOGLE).await;
    let (used, used_code) = stack.unredeemed_code(GOOGLE).await;
    let token = stack.backend.token(&used, &used_code).await;
    let halfway = stack.halfway(Flow::Clean, GOOGLE).await;
    let demo = Browser::new();
    let home = stack.demo("/");
    demo.press_until(&home, &stack.demo("/login/google"), UNSERVED)
        .await;
    assert!(is_signed_in(&stack, &demo).await);
    let interactive = json!({ "mode": "interactive" });
    put(&stack, "/api/upstreams/google", interactive).await;
    stack.queue_misbehaviour(GOOGLE, Misbehaviour::Deny);
    let providers = "GET /api/providers".parse().expect("an operation");
    let fault = FaultInjection::next(providers, Fault::Refuse);
    stack.faults().arm(fault);
    let projects = get(&stack, "/api/projects").await;
    let last = stack.event_log().events(0, None).pop().expect("an event");

    let reset = stack.control(Method::POST, "/api/reset", None).await;
    reset.is(204, "");

    assert_eq!(stack.clock().advanced_ms(), 0);
    assert!(stack.event_log().events(0, None).is_empty());
    assert!(stack.event_log().exchange(&last.request_id).is_none());
    let requests = get(&stack, "/api/upstreams/google/requests").await;
    requests.is(200, "[]");
    assert_eq!(get(&stack, "/api/projects").await.text(), projects.text());
    assert_eq!(stack.backend.providers().await.status, 200, "no fault");
    let first = stack.event_log().events(0, None).remove(0);
    assert!(first.seq > last.seq, "a number is never used again");
    let backend = &stack.backend;
    backend.result(&completed.session_key).await.is_refusal(400);
    backend.redeem(&transaction, &code).await.is_refusal(400);
    assert_eq!(backend.profile(&token).await.status, 401);
    let page = halfway.deliver(&halfway.answer).await;
    let page = page.response.expect("a page");
    page.is_page(400, "This sign-in did not begin in this browser");
    let again = backend.start_with_key(&started.session_key, GOOGLE).await;
    assert_eq!(again.status, 200, "{}", again.text());
    assert!(!is_signed_in(&stack, &demo).await);
    for flow in FLOWS {
        for provider in PROVIDERS {
            stack.sign_in(flow, provider).await.is_ada(provider);
        }
    }
    demo.press_until(&home, &stack.demo("/login/google"), UNSERVED)
        .await;
    assert!(is_signed_in(&stack, &demo).await);
}

async fn is_signed_in(stack: &TestStack, browser: &Browser) -> bool {
    let profile = stack.demo("/profile");
    browser.type_in(&profile).await.url == profile
}

#[tokio::test]
async fn a_guard_that_a_lesson_has_set_ends_with_a_reset() {
    let stack = TestStack::start().await;
    let control = &stack.urls().control;
    let is_asked = async || {
        let (home, start) = (stack.demo("/"), stack.demo("/login/google"));
        let attacker = Browser::new();
        let bait = attacker.press_until(&home, &start, stack.broker()).await;
        let lure = "https://evil.example/";
        let victim = Browser::new();
        let end = victim.follow_from(lure, &bait.url, UNSERVED).await;
        end.url.starts_with(stack.broker())
    };
    for guard in ["always", "off"] {
        let form = Http::at(control).post("/do/guard");
        let form = form.header("Origin", control).form(&[("guard", guard)]);
        assert_eq!(form.send().await.status, 303, "{guard}");
    }
    assert!(!is_asked().await);
    for _ in 0..2 {
        let reset = stack.control(Method::POST, "/api/reset", None::<Value>);
        reset.await.is(204, "");
        assert!(is_asked().await);
    }
}
