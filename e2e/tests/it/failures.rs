//! Every failure of a provider ends as one of three errors, and the browser always gets
//! back to the consumer.

use reqwest::Method;
use serde_json::{Value, json};

use crate::login::{FLOWS, Flow, GITHUB, GOOGLE, Outcome, PROVIDERS};
use crate::test_stack::TestStack;
use testkit::query::{parameter, with_parameter, without_parameter};

// Threats: A30.
#[tokio::test]
async fn each_misbehaviour_of_google_ends_a_clean_login_with_its_error() {
    check_table(Flow::Clean, GOOGLE).await;
}

// Threats: A30.
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

#[tokio::test]
async fn a_misbehaviour_of_the_keys_ends_with_its_error_after_any_other() {
    let stack = TestStack::start().await;
    let mut rows = table(&stack, GOOGLE).await;
    rows.retain(|row| KEY_MISBEHAVIOURS.contains(&row["name"].as_str().unwrap_or_default()));
    assert_eq!(rows.len(), KEY_MISBEHAVIOURS.len());
    let pairs = rows
        .iter()
        .flat_map(|one| rows.iter().flat_map(move |other| [one, other]));
    check_rows(&stack, Flow::Clean, GOOGLE, pairs).await;
}

#[tokio::test]
async fn a_broken_escape_is_a_code_like_any_other_which_the_provider_refuses() {
    let stack = TestStack::start().await;
    for flow in FLOWS {
        for provider in PROVIDERS {
            for code in ["%", "%zz", "%F0%28%8C%28"] {
                let halfway = stack.halfway(flow, provider).await;
                let answer = format!("{}&code={code}", without_parameter(&halfway.answer, "code"));
                halfway
                    .finish_with(&stack.backend, &answer)
                    .await
                    .is_error("invalid_provider_response");
            }
        }
    }
}

#[tokio::test]
async fn the_code_of_another_login_is_not_accepted() {
    let stack = TestStack::start().await;
    for flow in FLOWS {
        for provider in PROVIDERS {
            let theirs = stack.halfway(flow, provider).await;
            let halfway = stack.halfway(flow, provider).await;
            let injected =
                with_parameter(&halfway.answer, "code", &parameter(&theirs.answer, "code"));
            halfway
                .finish_with(&stack.backend, &injected)
                .await
                .is_error("invalid_provider_response");
        }
    }
}

/// The misbehaviours that make the broker look for a key, or fail while it looks.
const KEY_MISBEHAVIOURS: [&str; 4] = ["unknown_kid", "stale_keys", "keys_500", "keys_timeout"];

/// Lets everything go wrong that the control address lists, in the order of the list and
/// in the opposite one, and compares how the logins end with what it says.
async fn check_table(flow: Flow, provider: &str) {
    let stack = TestStack::start().await;
    let table = table(&stack, provider).await;
    check_rows(
        &stack,
        flow,
        provider,
        table.iter().chain(table.iter().rev()),
    )
    .await;
}

/// Plays one login for each row on one broker. Whatever a provider answers, it is asked
/// for a token at most once.
async fn check_rows(
    stack: &TestStack,
    flow: Flow,
    provider: &str,
    rows: impl Iterator<Item = &Value>,
) {
    let mut surprises = Vec::new();
    for row in rows {
        let before = stack.token_calls(provider);
        queue(stack, provider, row).await;
        let outcome = stack.sign_in(flow, provider).await;
        let calls = stack.token_calls(provider) - before;
        if calls > 1 || !is_expected(&outcome, row) {
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
