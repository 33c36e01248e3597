//! The responses of GitHub's REST API.

use mock_upstream::Misbehaviour;
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use super::{GITHUB, mock_with};
use crate::test_mock::{Response, TestMock};

async fn call(mock: &TestMock, path: &str) -> RequestBuilder {
    let token = mock.sign_in(GITHUB).await.text("access_token");
    let url = format!("{}{path}", mock.upstreams.github().url());
    let request = mock.request(Method::GET, &url);
    request.header("user-agent", "contract").bearer_auth(token)
}

async fn response_of(misbehaviour: Misbehaviour, path: &str) -> Response {
    let mock = mock_with(GITHUB, misbehaviour).await;
    Response::of(call(&mock, path).await).await
}

async fn check_limit(
    misbehaviour: Misbehaviour,
    status: u16,
    remaining: &str,
    wait: &str,
) -> Response {
    let response = response_of(misbehaviour, "/user").await;
    assert_eq!(response.status, status, "{misbehaviour:?}");
    assert_eq!(response.header("x-ratelimit-limit"), "5000");
    assert_eq!(response.header("x-ratelimit-remaining"), remaining);
    assert_eq!(response.header("retry-after"), wait);
    response
}

// REST API, "Rate limits": 403 or 429, remaining 0.
#[tokio::test]
async fn the_primary_limit_is_a_403_or_a_429_with_nothing_left() {
    let response = check_limit(Misbehaviour::RateLimited, 403, "0", "").await;
    assert!(
        response
            .text("message")
            .starts_with("API rate limit exceeded")
    );
    check_limit(Misbehaviour::RateLimitedRetryAfter, 429, "0", "60").await;
}

// REST API, "Rate limits": the message, maybe retry-after.
#[tokio::test]
async fn the_secondary_limit_has_a_message_of_its_own_while_calls_are_left() {
    for (misbehaviour, wait) in [
        (Misbehaviour::SecondaryLimit, ""),
        (Misbehaviour::SecondaryLimitRetryAfter, "60"),
    ] {
        let response = check_limit(misbehaviour, 403, "4990", wait).await;
        let message = response.text("message");
        assert!(message.starts_with("You have exceeded a secondary rate limit."));
        assert!(
            response
                .text("documentation_url")
                .ends_with("#about-secondary-rate-limits")
        );
    }
}

#[tokio::test]
async fn a_refused_profile_is_bad_credentials() {
    let response = response_of(Misbehaviour::ProfileRefused, "/user").await;
    assert_eq!(response.status, 401);
    assert_eq!(response.text("message"), "Bad credentials");
}

#[tokio::test]
async fn garbage_is_a_200_with_the_first_half_of_json() {
    for (misbehaviour, path) in [
        (Misbehaviour::ProfileGarbage, "/user"),
        (Misbehaviour::EmailsGarbage, "/user/emails"),
    ] {
        let response = response_of(misbehaviour, path).await;
        assert_eq!(response.status, 200);
        assert!(!response.body.is_empty());
        assert!(serde_json::from_str::<Value>(&response.body).is_err());
    }
}

// REST API, "Troubleshooting": slow calls are cut off.
#[tokio::test]
async fn a_slow_call_is_a_server_error() {
    let response = response_of(Misbehaviour::Profile502, "/user").await;
    assert_eq!(response.status, 502);
    assert_eq!(response.json(), json!({ "message": "Server Error" }));
}

#[tokio::test]
async fn a_timeout_of_the_profile_is_silence() {
    let mock = mock_with(GITHUB, Misbehaviour::ProfileTimeout).await;
    let timeout = std::time::Duration::from_millis(100);
    let request = call(&mock, "/user").await.timeout(timeout);
    assert!(request.send().await.unwrap_err().is_timeout());
}

#[tokio::test]
async fn the_addresses_can_fail_while_the_account_does_not() {
    response_of(Misbehaviour::Emails503, "/user/emails")
        .await
        .assert_page(503, "503");
    assert_eq!(
        response_of(Misbehaviour::Emails503, "/user").await.status,
        200
    );
}

#[tokio::test]
async fn an_id_can_be_missing_or_a_string() {
    let absent = response_of(Misbehaviour::IdAbsent, "/user").await.json();
    assert_eq!(absent.get("id"), None);
    assert_eq!(absent["login"], "ada-mock");
    let text = response_of(Misbehaviour::IdText, "/user").await.json();
    assert_eq!(text["id"], "9000001");
}
