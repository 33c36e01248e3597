//! What GitHub's REST API answers.

use mock_upstream::Misbehaviour;
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use super::{GITHUB, world_with};
use crate::world::{Seen, World};

async fn call(world: &World, path: &str) -> RequestBuilder {
    let token = world.sign_in(GITHUB).await.text("access_token");
    let url = format!("{}{path}", world.mock.github().url());
    let request = world.request(Method::GET, &url);
    request.header("user-agent", "contract").bearer_auth(token)
}

async fn answer(misbehaviour: Misbehaviour, path: &str) -> Seen {
    let world = world_with(GITHUB, misbehaviour).await;
    Seen::of(call(&world, path).await).await
}

async fn check_limit(misbehaviour: Misbehaviour, status: u16, remaining: &str, wait: &str) -> Seen {
    let seen = answer(misbehaviour, "/user").await;
    assert_eq!(seen.status, status, "{misbehaviour:?}");
    assert_eq!(seen.header("x-ratelimit-limit"), "5000");
    assert_eq!(seen.header("x-ratelimit-remaining"), remaining);
    assert_eq!(seen.header("retry-after"), wait);
    seen
}

// REST API, "Rate limits": 403 or 429, remaining 0.
#[tokio::test]
async fn the_primary_limit_is_a_403_or_a_429_with_nothing_left() {
    let seen = check_limit(Misbehaviour::RateLimited, 403, "0", "").await;
    assert!(seen.text("message").starts_with("API rate limit exceeded"));
    check_limit(Misbehaviour::RateLimitedRetryAfter, 429, "0", "60").await;
}

// REST API, "Rate limits": the message, maybe retry-after.
#[tokio::test]
async fn the_secondary_limit_is_told_by_its_message_while_calls_are_left() {
    for (misbehaviour, wait) in [
        (Misbehaviour::SecondaryLimit, ""),
        (Misbehaviour::SecondaryLimitRetryAfter, "60"),
    ] {
        let seen = check_limit(misbehaviour, 403, "4990", wait).await;
        let message = seen.text("message");
        assert!(message.starts_with("You have exceeded a secondary rate limit."));
        assert!(
            seen.text("documentation_url")
                .ends_with("#about-secondary-rate-limits")
        );
    }
}

#[tokio::test]
async fn a_refused_profile_is_bad_credentials() {
    let seen = answer(Misbehaviour::ProfileRefused, "/user").await;
    assert_eq!(seen.status, 401);
    assert_eq!(seen.text("message"), "Bad credentials");
}

#[tokio::test]
async fn garbage_is_a_200_with_the_first_half_of_json() {
    for (misbehaviour, path) in [
        (Misbehaviour::ProfileGarbage, "/user"),
        (Misbehaviour::EmailsGarbage, "/user/emails"),
    ] {
        let seen = answer(misbehaviour, path).await;
        assert_eq!(seen.status, 200);
        assert!(!seen.body.is_empty());
        assert!(serde_json::from_str::<Value>(&seen.body).is_err());
    }
}

// REST API, "Troubleshooting": slow calls are cut.
#[tokio::test]
async fn a_slow_call_is_a_server_error() {
    let seen = answer(Misbehaviour::Profile502, "/user").await;
    assert_eq!(seen.status, 502);
    assert_eq!(seen.json(), json!({ "message": "Server Error" }));
}

#[tokio::test]
async fn a_silent_profile_says_nothing() {
    let world = world_with(GITHUB, Misbehaviour::ProfileTimeout).await;
    let patience = std::time::Duration::from_millis(100);
    let request = call(&world, "/user").await.timeout(patience);
    assert!(request.send().await.unwrap_err().is_timeout());
}

#[tokio::test]
async fn addresses_may_be_a_503_while_the_account_is_fine() {
    answer(Misbehaviour::Emails503, "/user/emails")
        .await
        .assert_page(503, "503");
    assert_eq!(answer(Misbehaviour::Emails503, "/user").await.status, 200);
}

#[tokio::test]
async fn an_id_may_be_missing_or_text() {
    let absent = answer(Misbehaviour::IdAbsent, "/user").await.json();
    assert_eq!(absent.get("id"), None);
    assert_eq!(absent["login"], "ada-mock");
    let text = answer(Misbehaviour::IdText, "/user").await.json();
    assert_eq!(text["id"], "9000001");
}
