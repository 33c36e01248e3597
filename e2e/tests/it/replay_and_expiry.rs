//! Single use and expiry: values that are used again, and used too late.

mod model;

use testkit::fresh;
use testkit::http::Response;

use crate::login::GOOGLE;
use crate::test_stack::TestStack;

// Threats: A27.
#[tokio::test]
async fn consumed_expired_unknown_and_foreign_results_get_equal_responses() {
    let stack = TestStack::start().await;
    let backend = &stack.backend;
    let expired = stack.completed_login(GOOGLE).await;
    stack.advance_seconds(600);
    let consumed = stack.completed_login(GOOGLE).await;
    backend.result(&consumed.session_key).await;
    let others = stack
        .other_project("Another app")
        .await
        .start_login(GOOGLE)
        .await;

    let mut responses = Vec::new();
    for key in [
        &expired.session_key,
        &consumed.session_key,
        &others.session_key,
        &fresh::secret(),
    ] {
        responses.push(backend.result(key).await);
    }
    responses.iter().for_each(|it| it.is_refusal(400));
    let reference = visible(&responses[0]);
    assert!(
        responses
            .iter()
            .all(|response| visible(response) == reference)
    );
}

/// The parts of a response by which two could differ: all but the id of the
/// request and the date.
fn visible(response: &Response) -> (u16, Vec<(String, Vec<u8>)>, String) {
    let headers = response
        .headers
        .iter()
        .filter(|(name, _)| !["x-request-id", "date"].contains(&name.as_str()))
        .map(|(name, value)| (name.to_string(), value.as_bytes().to_vec()))
        .collect();
    (response.status, headers, response.text().to_owned())
}
