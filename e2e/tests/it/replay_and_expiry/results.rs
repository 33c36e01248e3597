//! Session keys, results and upstream logins.

use super::{MARGIN_MS, at_once, in_time};
use crate::login::{FLOWS, Flow, GITHUB, GOOGLE, PROVIDERS, StartedLogin};
use crate::test_stack::TestStack;
use testkit::backend::CleanLogin;
use testkit::browser::Browser;
use testkit::fresh;
use testkit::http::{PENDING, REFUSED, Response};

// The result of a clean login.

#[tokio::test]
async fn a_result_is_readable_until_600_seconds_have_passed() {
    let stack = TestStack::start().await;
    in_time(async || {
        let begun = stack.now_ms();
        let login = stack.completed_login(GOOGLE).await;
        stack.advance_to(begun + 600_000 - MARGIN_MS);
        let response = stack.backend.result(&login.session_key).await;
        let is_in_time = stack.now_ms() < begun + 600_000;
        is_in_time.then(|| assert_eq!(response.status, 200, "{}", response.text()))
    })
    .await;
}

#[tokio::test]
async fn an_unread_result_expires_after_600_seconds() {
    let stack = TestStack::start().await;
    let completed = stack.completed_login(GOOGLE).await;
    let pending = stack.backend.start_login(GOOGLE).await;
    stack.advance_seconds(600);
    stack
        .backend
        .result(&completed.session_key)
        .await
        .is_refusal(400);
    stack
        .backend
        .result(&pending.session_key)
        .await
        .is_refusal(400);
}

#[tokio::test]
async fn a_pending_login_can_be_polled_until_it_expires() {
    let stack = TestStack::start().await;
    in_time(async || {
        let begun = stack.now_ms();
        let login = stack.backend.start_login(GITHUB).await;
        stack.advance_to(begun + 600_000 - MARGIN_MS);
        let response = stack.backend.result(&login.session_key).await;
        let is_in_time = stack.now_ms() < begun + 600_000;
        is_in_time.then(|| {
            response.is(200, PENDING);
        })
    })
    .await;
}

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

#[tokio::test]
async fn an_invalid_result_request_does_not_consume_the_result() {
    let stack = TestStack::start().await;
    let login = stack.completed_login(GOOGLE).await;
    let right = stack.backend.result_body(&login.session_key);
    for (field, wrong) in [
        ("client_id", "unknown"),
        ("client_id", "demo"),
        ("client_secret", "wrong"),
        ("redirect_uri", "http://localhost:9/other/back"),
        ("redirect_uri", "http://localhost:9/came/back/"),
        ("session_key", "short"),
    ] {
        let mut body = right.clone();
        body[field] = wrong.into();
        stack
            .backend
            .post("/v1/login/result", &body)
            .await
            .is_refusal(400);
    }
    let response = stack.backend.result(&login.session_key).await;
    assert_eq!(response.json()["status"], "succeeded");
}

#[tokio::test]
async fn a_pending_read_does_not_consume_however_often_it_is_repeated() {
    let stack = TestStack::start().await;
    let begun = stack.halfway(Flow::Clean, GOOGLE).await;
    for _ in 0..300 {
        begun.login.assert_pending(&stack.backend).await;
    }
    begun.finish(&stack.backend).await.is_ada(GOOGLE);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_64_reads_of_a_result_at_once_one_gets_it() {
    for provider in PROVIDERS {
        let stack = TestStack::start().await;
        let login = stack.completed_login(provider).await;
        let responses = at_once(64, &stack.backend, |backend| {
            let key = login.session_key.clone();
            async move { backend.result(&key).await }
        })
        .await;
        let (won, lost): (Vec<_>, Vec<_>) = responses
            .iter()
            .partition(|response| response.status == 200);
        assert_eq!(won.len(), 1);
        assert_eq!(won[0].json()["status"], "succeeded");
        assert!(
            lost.iter()
                .all(|response| response.status == 400 && response.text() == REFUSED)
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_browser_is_back_at_the_consumer_only_after_the_login_has_its_outcome() {
    let stack = TestStack::start().await;
    for round in 0..200 {
        let provider = PROVIDERS[round % 2];
        let login = stack.completed_login(provider).await;
        let response = stack.backend.result(&login.session_key).await;
        assert_eq!(response.json()["status"], "succeeded", "round {round}");
    }
}

#[tokio::test]
async fn a_login_that_ended_too_late_has_no_result() {
    let stack = TestStack::start().await;
    let begun = stack.halfway(Flow::Clean, GOOGLE).await;
    stack.advance_seconds(600);
    assert_eq!(
        begun.deliver(&begun.answer).await.url,
        stack.backend.callback
    );
    let StartedLogin::Clean(CleanLogin { session_key, .. }) = &begun.login else {
        panic!("it is a clean login");
    };
    stack.backend.result(session_key).await.is_refusal(400);
}

// The session key.

#[tokio::test]
async fn a_session_key_is_taken_for_600_seconds_in_every_project() {
    let stack = TestStack::start().await;
    let other = stack.other_project("Another app").await;
    for ended in [false, true] {
        let login = stack.backend.start_login(GOOGLE).await;
        if ended {
            Browser::new().follow(&login.authorization_url).await;
            stack.backend.result(&login.session_key).await;
        }
        for backend in [&stack.backend, &other] {
            backend
                .start_with_key(&login.session_key, GOOGLE)
                .await
                .is_refusal(400);
            backend
                .start_with_key(&login.session_key, GITHUB)
                .await
                .is_refusal(400);
        }
        stack.advance_seconds(600);
        let again = other.start_with_key(&login.session_key, GOOGLE).await;
        assert_eq!(again.status, 200, "{}", again.text());
    }
}

#[tokio::test]
async fn a_session_key_is_still_taken_just_before_600_seconds_have_passed() {
    let stack = TestStack::start().await;
    in_time(async || {
        let begun = stack.now_ms();
        let login = stack.backend.start_login(GOOGLE).await;
        stack.advance_to(begun + 600_000 - MARGIN_MS);
        let response = stack
            .backend
            .start_with_key(&login.session_key, GOOGLE)
            .await;
        let is_in_time = stack.now_ms() < begun + 600_000;
        is_in_time.then(|| response.is_refusal(400))
    })
    .await;
}

#[tokio::test]
async fn a_second_start_with_a_key_leaves_the_first_login_alone() {
    let stack = TestStack::start().await;
    let begun = stack.halfway(Flow::Clean, GOOGLE).await;
    let StartedLogin::Clean(login) = &begun.login else {
        panic!("it is a clean login");
    };
    stack
        .backend
        .start_with_key(&login.session_key, GITHUB)
        .await
        .is_refusal(400);
    begun.finish(&stack.backend).await.is_ada(GOOGLE);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_32_starts_with_one_key_at_once_one_succeeds() {
    let stack = TestStack::start().await;
    let key = fresh::secret();
    let responses = at_once(32, &stack.backend, |backend| {
        let key = key.clone();
        async move { backend.start_with_key(&key, GOOGLE).await }
    })
    .await;
    assert_eq!(
        responses
            .iter()
            .filter(|response| response.status == 200)
            .count(),
        1
    );
    assert!(
        responses
            .iter()
            .all(|response| response.status == 200 || response.text() == REFUSED)
    );
}

// The upstream login.

#[tokio::test]
async fn an_upstream_login_is_valid_until_the_logins_600_seconds_have_passed() {
    let stack = TestStack::start().await;
    for flow in FLOWS {
        in_time(async || {
            let begun_ms = stack.now_ms();
            let begun = stack.halfway(flow, GITHUB).await;
            stack.advance_to(begun_ms + 600_000 - MARGIN_MS);
            let calls = stack.token_calls(GITHUB);
            begun.deliver(&begun.answer).await;
            let is_in_time = stack.now_ms() < begun_ms + 600_000;
            is_in_time.then(|| assert_eq!(stack.token_calls(GITHUB), calls + 1))
        })
        .await;
    }
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
