//! What a provider does, through both flows: every seed user becomes the profile that the
//! contract promises, every failure ends as one of three errors, and the browser always
//! gets back to the consumer.

use agent::url::{parameter, without_parameter};
use mock_upstream::User;
use mock_upstream::users::seed_users;
use reqwest::Method;
use serde_json::{Value, json};
use testkit::fresh;
use testkit::login::{FLOWS, Flow, GITHUB, GOOGLE, Outcome, PROVIDERS};

use crate::test_stack::TestStack;

#[tokio::test]
async fn every_seed_user_becomes_the_profile_that_the_contract_promises() {
    let stack = TestStack::start().await;
    for provider in PROVIDERS {
        for someone in seed_users() {
            let user = someone.at(provider.parse().expect("one of the two"));
            let user = user.expect("an account at both");
            for flow in FLOWS {
                stack.queue_user(provider, user);
                let profile = stack.sign_in(flow, provider).await.profile();
                assert_eq!(profile, expected(provider, user), "{}", someone.reason);
            }
        }
    }
}

/// The profile of `user` by the design and the providers' documents.
fn expected(provider: &str, user: &User) -> Value {
    let is_google = provider == GOOGLE;
    // GitHub proves an address by having verified it, or it shows none.
    let email = user
        .email
        .as_ref()
        .filter(|_| is_google || user.email_verified);
    json!({
        "subject": fresh::subject(provider, &user.id),
        "provider": provider,
        "providerSubject": user.id,
        "name": user.name,
        "username": if is_google { None } else { user.username.as_ref() },
        "email": email,
        "emailVerified": email.is_some() && user.email_verified,
        "avatarUrl": user.picture,
    })
}

// Threats: A30.
#[tokio::test(flavor = "multi_thread")]
async fn each_misbehaviour_of_a_provider_ends_a_login_by_either_flow_with_its_error() {
    tokio::join!(
        check_table(Flow::Clean, GOOGLE),
        check_table(Flow::Clean, GITHUB),
        check_table(Flow::Legacy, GOOGLE),
        check_table(Flow::Legacy, GITHUB),
    );
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
async fn a_code_that_is_no_text_or_that_of_another_login_is_not_accepted() {
    let stack = TestStack::start().await;
    for flow in FLOWS {
        for provider in PROVIDERS {
            let theirs = stack.halfway(flow, provider).await;
            let theirs = parameter(&theirs.answer, "code")
                .unwrap()
                .replace('/', "%2F");
            for code in ["%", "%zz", "%F0%28%8C%28", &theirs] {
                let halfway = stack.halfway(flow, provider).await;
                let rest = without_parameter(&halfway.answer, "code");
                let injected = format!("{rest}&code={code}");
                let outcome = halfway.finish_with(&stack.backend, &injected).await;
                outcome.is_error("invalid_provider_response");
            }
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
    let rows = table.iter().chain(table.iter().rev());
    check_rows(&stack, flow, provider, rows).await;
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
    let table = response.json().as_array().expect("a list").clone();
    assert!(table.iter().all(|row| row["says"].is_string()), "{table:?}");
    table
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
