//! Every failure of a provider ends as one of three errors, and the browser always gets
//! back to the consumer.

use mock_upstream::Misbehaviour;
use reqwest::Method;
use serde_json::{Value, json};

use crate::login::{FLOWS, Flow, GITHUB, GOOGLE, Outcome, PROVIDERS};
use crate::test_broker::{ProviderFailure, TestBroker};
use crate::test_stack::TestStack;

#[tokio::test]
async fn each_misbehaviour_of_google_ends_a_clean_login_with_its_error() {
    check_table(Flow::Clean, GOOGLE).await;
}

#[tokio::test]
async fn each_misbehaviour_of_github_ends_a_clean_login_with_its_error() {
    check_table(Flow::Clean, GITHUB).await;
}

#[tokio::test]
async fn each_misbehaviour_of_google_ends_a_legacy_login_with_its_error() {
    check_table(Flow::Legacy, GOOGLE).await;
}

#[tokio::test]
async fn each_misbehaviour_of_github_ends_a_legacy_login_with_its_error() {
    check_table(Flow::Legacy, GITHUB).await;
}

/// Lets everything go wrong that the control address lists, one login each, and
/// compares how they end with what it says. Whatever a provider answers, it is
/// asked for a token at most once.
async fn check_table(flow: Flow, provider: &str) {
    let stack = TestStack::start().await;
    let mut surprises = Vec::new();
    for row in table(&stack, provider).await {
        // The broker looks for unknown keys once a minute.
        stack.advance_seconds(120);
        let before = stack.token_calls(provider);
        queue(&stack, provider, &row).await;
        let outcome = stack.sign_in(flow, provider).await;
        let calls = stack.token_calls(provider) - before;
        if calls > 1 || !is_expected(&outcome, &row) {
            surprises.push(format!("{row}: {calls} token calls, {outcome:?}"));
        }
    }
    assert!(surprises.is_empty(), "{surprises:#?}");
}

/// The description of `provider`'s misbehaviours by the control API.
async fn table(stack: &TestStack, provider: &str) -> Vec<Value> {
    let path = format!("/api/upstreams/{provider}/misbehaviours");
    let response = stack.control(Method::GET, &path, None).await;
    response.json().as_array().expect("a list").clone()
}

async fn queue(stack: &TestStack, provider: &str, row: &Value) {
    let path = format!("/api/upstreams/{provider}/next");
    let next = json!({ "misbehave": row["name"] });
    let response = stack.control(Method::POST, &path, Some(next)).await;
    assert_eq!(response.status, 201, "{}", response.text());
}

/// The error of the row, or, where it has none, a clean profile of the user.
fn is_expected(outcome: &Outcome, row: &Value) -> bool {
    match (outcome, row["error"].as_str()) {
        (Outcome::Error(error), Some(expected)) => error == expected,
        (Outcome::Profile(profile), None) => is_clean(profile),
        _ => false,
    }
}

/// Asserts that the profile is Ada's, without anything harmful to display.
fn is_clean(profile: &Value) -> bool {
    let is_good = |field: &str, good: fn(&str) -> bool| match &profile[field] {
        Value::Null => true,
        value => value.as_str().is_some_and(good),
    };
    let ids = ["100000000000000000001", "9000001"];
    ids.contains(&profile["providerSubject"].as_str().unwrap_or_default())
        && is_good("name", |name| {
            let disrupts = |c: char| c.is_control() || c == '\u{202e}';
            name.chars().count() <= 256 && !name.contains(disrupts)
        })
        && is_good("email", |email| email.matches('@').count() == 1)
        && is_good("avatarUrl", |url| url.starts_with("https://"))
}

#[tokio::test]
async fn a_declined_sign_in_makes_no_token_call() {
    let stack = TestStack::start().await;
    for provider in PROVIDERS {
        for flow in FLOWS {
            stack.queue_misbehaviour(provider, Misbehaviour::Deny);
            stack
                .sign_in(flow, provider)
                .await
                .is_error("access_denied");
        }
        assert_eq!(stack.token_calls(provider), 0);
    }
}

#[tokio::test]
async fn after_a_failure_the_next_login_succeeds() {
    let stack = TestStack::start().await;
    for provider in PROVIDERS {
        for flow in FLOWS {
            stack.queue_misbehaviour(provider, Misbehaviour::Reset);
            stack
                .sign_in(flow, provider)
                .await
                .is_error("provider_unavailable");
            stack.sign_in(flow, provider).await.is_ada(provider);
        }
    }
}

#[tokio::test]
async fn a_provider_that_fails_is_shown_as_unavailable_until_it_works_again() {
    let stack = TestStack::start().await;
    assert!(is_available(&stack, GITHUB).await);
    stack.queue_misbehaviour(GITHUB, Misbehaviour::ServerError);
    stack
        .sign_in(Flow::Clean, GITHUB)
        .await
        .is_error("provider_unavailable");
    assert!(!is_available(&stack, GITHUB).await);
    assert!(is_available(&stack, GOOGLE).await);
    stack.sign_in(Flow::Clean, GITHUB).await.is_ada(GITHUB);
    assert!(is_available(&stack, GITHUB).await);
}

async fn is_available(stack: &TestStack, provider: &str) -> bool {
    let statuses = stack.backend.providers().await.json();
    let statuses = statuses.as_array().expect("a list");
    let status = statuses.iter().find(|status| status["id"] == provider);
    status.expect("both are listed")["available"] == true
}

#[tokio::test]
async fn our_own_wrong_credentials_look_like_an_unavailable_provider() {
    let broker = TestBroker::with_failing_providers(ProviderFailure::WrongSecret).await;
    for provider in PROVIDERS {
        for flow in FLOWS {
            broker
                .sign_in(flow, provider)
                .await
                .is_error("provider_unavailable");
        }
    }
}

#[tokio::test]
async fn a_provider_that_cannot_be_reached_is_unavailable() {
    let broker = TestBroker::with_failing_providers(ProviderFailure::Unreachable).await;
    for flow in FLOWS {
        // Google's discovery document names the authorization endpoint.
        broker
            .sign_in(flow, GOOGLE)
            .await
            .is_error("provider_unavailable");
        // GitHub's address is known; the broker finds out at the token call.
        broker
            .sign_in_with_forged_code(flow, GITHUB)
            .await
            .is_error("provider_unavailable");
    }
}
