//! Handoff codes and the access tokens they are redeemed for.

use reqwest::Method;

use super::{MARGIN_MS, at_once, in_time};
use crate::login::{GITHUB, GOOGLE, PROVIDERS};
use crate::test_stack::TestStack;
use testkit::backend::{Backend, LegacyLogin};
use testkit::fresh;
use testkit::http::{REFUSED, UNRECOGNISED};

// The handoff code.

#[tokio::test]
async fn a_code_is_good_for_60_seconds() {
    let stack = TestStack::start().await;
    in_time(async || {
        let before = stack.now_ms();
        let (transaction, code) = stack.unredeemed_code(GOOGLE).await;
        stack.advance_to(before + 60_000 - MARGIN_MS);
        let response = stack.backend.redeem(&transaction, &code).await;
        let is_in_time = stack.now_ms() < before + 60_000;
        is_in_time.then(|| assert_eq!(response.status, 200, "{}", response.text()))
    })
    .await;
    let (transaction, code) = stack.unredeemed_code(GOOGLE).await;
    stack.advance_seconds(60);
    stack
        .backend
        .redeem(&transaction, &code)
        .await
        .is_refusal(400);
}

#[tokio::test]
async fn a_second_valid_redemption_is_refused_and_ends_the_first_ones_token() {
    let stack = TestStack::start().await;
    for provider in PROVIDERS {
        let (transaction, code) = stack.unredeemed_code(provider).await;
        let token = stack.backend.token(&transaction, &code).await;
        assert_eq!(stack.backend.profile(&token).await.status, 200);
        stack
            .backend
            .redeem(&transaction, &code)
            .await
            .is_refusal(400);
        stack.backend.profile(&token).await.is(401, UNRECOGNISED);
    }
}

#[tokio::test]
async fn a_second_valid_redemption_ends_the_token_even_after_the_codes_own_end() {
    let stack = TestStack::start().await;
    let (transaction, code) = stack.unredeemed_code(GOOGLE).await;
    let token = stack.backend.token(&transaction, &code).await;
    stack.advance_seconds(300);
    stack
        .backend
        .redeem(&transaction, &code)
        .await
        .is_refusal(400);
    stack.backend.profile(&token).await.is(401, UNRECOGNISED);
}

#[tokio::test]
async fn a_second_invalid_redemption_leaves_the_first_ones_token_alone() {
    let stack = TestStack::start().await;
    let (transaction, code) = stack.unredeemed_code(GOOGLE).await;
    let token = stack.backend.token(&transaction, &code).await;
    redeem_invalidly(&stack, &transaction, &code).await;
    assert_eq!(stack.backend.profile(&token).await.status, 200);
}

#[tokio::test]
async fn an_invalid_redemption_does_not_consume_the_code() {
    let stack = TestStack::start().await;
    let (transaction, code) = stack.unredeemed_code(GOOGLE).await;
    redeem_invalidly(&stack, &transaction, &code).await;
    let response = stack.backend.redeem(&transaction, &code).await;
    assert_eq!(response.status, 200, "{}", response.text());
}

/// Presents `code` in requests with one flaw each.
async fn redeem_invalidly(stack: &TestStack, transaction: &LegacyLogin, code: &str) {
    let right = stack.backend.token_body(&transaction.verifier, code);
    for (field, wrong) in [
        ("code_verifier", fresh::secret()),
        ("redirect_uri", "http://localhost:9/elsewhere".to_owned()),
        ("code", fresh::secret()),
        ("code", code[..42].to_owned()),
    ] {
        let mut body = right.clone();
        body[field] = wrong.into();
        stack.backend.post("/v1/token", &body).await.is_refusal(400);
    }
    for (field, wrong) in [("client_secret", "wrong"), ("client_id", "unknown")] {
        let mut body = right.clone();
        body[field] = wrong.into();
        stack
            .backend
            .post("/v1/token", &body)
            .await
            .is(401, UNRECOGNISED);
    }
    // Another project, with its own credentials and with our callback or its own.
    let other = stack.other_project("Another app").await;
    other.redeem(transaction, code).await.is_refusal(400);
    let disguised = Backend {
        callback: stack.backend.callback.clone(),
        ..other
    };
    disguised.redeem(transaction, code).await.is_refusal(400);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_64_redemptions_at_once_one_succeeds_and_the_others_end_its_token() {
    let stack = TestStack::start().await;
    let (transaction, code) = stack.unredeemed_code(GOOGLE).await;
    let responses = at_once(64, &stack.backend, |backend| {
        let (transaction, code) = (transaction.clone(), code.clone());
        async move { backend.redeem(&transaction, &code).await }
    })
    .await;
    let (won, lost): (Vec<_>, Vec<_>) = responses
        .iter()
        .partition(|response| response.status == 200);
    assert_eq!(won.len(), 1);
    assert!(
        lost.iter()
            .all(|response| response.status == 400 && response.text() == REFUSED)
    );
    let token = won[0].json()["access_token"]
        .as_str()
        .expect("a token")
        .to_owned();
    stack.backend.profile(&token).await.is(401, UNRECOGNISED);
}

// The access token.

#[tokio::test]
async fn a_token_is_good_for_900_seconds() {
    let stack = TestStack::start().await;
    in_time(async || {
        let (transaction, code) = stack.unredeemed_code(GITHUB).await;
        let before = stack.now_ms();
        let token = stack.backend.token(&transaction, &code).await;
        stack.advance_to(before + 900_000 - MARGIN_MS);
        let response = stack.backend.profile(&token).await;
        let is_in_time = stack.now_ms() < before + 900_000;
        is_in_time.then(|| assert_eq!(response.status, 200, "{}", response.text()))
    })
    .await;
    let (transaction, code) = stack.unredeemed_code(GITHUB).await;
    let token = stack.backend.token(&transaction, &code).await;
    stack.advance_seconds(900);
    let response = stack.backend.profile(&token).await;
    response.is(401, UNRECOGNISED);
    assert_eq!(
        response.header("www-authenticate"),
        Some("Bearer error=\"invalid_token\"")
    );
}

#[tokio::test]
async fn a_profile_can_be_read_any_number_of_times() {
    let stack = TestStack::start().await;
    let (transaction, code) = stack.unredeemed_code(GOOGLE).await;
    let token = stack.backend.token(&transaction, &code).await;
    let first = stack.backend.profile(&token).await;
    for _ in 0..10 {
        assert_eq!(stack.backend.profile(&token).await.text(), first.text());
    }
}

#[tokio::test]
async fn revoking_is_the_same_for_live_dead_and_unknown_tokens() {
    let stack = TestStack::start().await;
    let (transaction, code) = stack.unredeemed_code(GOOGLE).await;
    let token = stack.backend.token(&transaction, &code).await;
    let unknown = format!("fsi_{}", fresh::secret());
    for token in [&token, &token, &unknown] {
        stack.backend.revoke(token).await.is(200, "{}");
    }
    stack.backend.profile(&token).await.is(401, UNRECOGNISED);
    stack.advance_seconds(2_000);
    stack.backend.revoke(&token).await.is(200, "{}");
}

#[tokio::test]
async fn revoking_one_token_does_not_revoke_another_of_the_same_user() {
    let stack = TestStack::start().await;
    let mut tokens = Vec::new();
    for _ in 0..2 {
        let (transaction, code) = stack.unredeemed_code(GOOGLE).await;
        tokens.push(stack.backend.token(&transaction, &code).await);
    }
    stack.backend.revoke(&tokens[0]).await;
    stack
        .backend
        .profile(&tokens[0])
        .await
        .is(401, UNRECOGNISED);
    assert_eq!(stack.backend.profile(&tokens[1]).await.status, 200);
}

#[tokio::test]
async fn no_other_secret_passes_for_a_token() {
    let stack = TestStack::start().await;
    let (transaction, code) = stack.unredeemed_code(GOOGLE).await;
    let login = stack.backend.start_login(GOOGLE).await;
    let handle = login
        .authorization_url
        .rsplit('/')
        .next()
        .expect("a handle");
    for other in [
        &code,
        &format!("fsi_{code}"),
        &transaction.state,
        &format!("fsi_{}", login.session_key),
        &format!("fsi_{handle}"),
        &stack.backend.client_secret,
        "fsi_",
    ] {
        stack.backend.profile(other).await.is(401, UNRECOGNISED);
    }
    let bare = stack.backend.request(Method::GET, "/v1/profile");
    let response = bare.send().await;
    response.is(401, UNRECOGNISED);
    assert_eq!(response.header("www-authenticate"), Some("Bearer"));
}
