//! A reset, which leaves nothing of the state before it.

use mock_upstream::Misbehaviour;
use reqwest::Method;
use serde_json::json;

use super::{get, put};
use crate::login::{FLOWS, Flow, GOOGLE, PROVIDERS};
use crate::test_stack::TestStack;
use testkit::browser::Browser;

#[tokio::test]
async fn logins_work_after_a_reset() {
    let stack = TestStack::start().await;
    stack.advance_seconds(10_000);
    let completed = stack.completed_login(GOOGLE).await;
    let (transaction, code) = stack.unredeemed_code(GOOGLE).await;
    let (used, used_code) = stack.unredeemed_code(GOOGLE).await;
    let token = stack.backend.token(&used, &used_code).await;
    let demo = Browser::new();
    let home = stack.demo("/");
    let end = demo
        .press_until(&home, &stack.demo("/login/google"), "nowhere:")
        .await;
    assert_eq!(end.url, stack.demo("/profile"));
    put(
        &stack,
        "/api/upstreams/google",
        json!({ "mode": "interactive" }),
    )
    .await;
    stack.queue_misbehaviour(GOOGLE, Misbehaviour::Deny);
    let projects = get(&stack, "/api/projects").await;

    stack
        .control(Method::POST, "/api/reset", None)
        .await
        .is(204, "");

    assert_eq!(
        get(&stack, "/api/clock").await.json()["advanced_seconds"],
        0.0
    );
    stack
        .backend
        .result(&completed.session_key)
        .await
        .is_refusal(400);
    stack
        .backend
        .redeem(&transaction, &code)
        .await
        .is_refusal(400);
    assert_eq!(stack.backend.profile(&token).await.status, 401);
    assert_eq!(demo.type_in(&stack.demo("/profile")).await.url, home);
    assert_eq!(
        get(&stack, "/api/upstreams/google/requests").await.text(),
        "[]"
    );
    assert_eq!(get(&stack, "/api/projects").await.text(), projects.text());
    for flow in FLOWS {
        for provider in PROVIDERS {
            stack.sign_in(flow, provider).await.is_ada(provider);
        }
    }
    let end = demo
        .press_until(&home, &stack.demo("/login/google"), "nowhere:")
        .await;
    assert_eq!(end.url, stack.demo("/profile"));
}

#[tokio::test]
async fn an_upstream_login_is_not_accepted_after_a_reset() {
    let stack = TestStack::start().await;
    let halfway = stack.halfway(Flow::Clean, GOOGLE).await;
    stack
        .control(Method::POST, "/api/reset", None)
        .await
        .is(204, "");
    let page = halfway.browser.open(&halfway.answer).await;
    page.is_page(400, "This sign-in did not begin in this browser");
}

#[tokio::test]
async fn a_used_session_key_is_unused_after_a_reset() {
    let stack = TestStack::start().await;
    let login = stack.backend.start_login(GOOGLE).await;
    stack
        .control(Method::POST, "/api/reset", None)
        .await
        .is(204, "");
    let again = stack
        .backend
        .start_with_key(&login.session_key, GOOGLE)
        .await;
    assert_eq!(again.status, 200, "{}", again.text());
}
