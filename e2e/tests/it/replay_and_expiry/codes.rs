//! Handoff codes and the access tokens they are redeemed for.

use reqwest::Method;

use super::{MARGIN_MS, at_once, in_time};
use crate::login::{GITHUB, GOOGLE, PROVIDERS};
use crate::world::World;
use testkit::backend::{Backend, Transaction};
use testkit::fresh;
use testkit::http::{REFUSED, UNRECOGNISED};

// The handoff code.

#[tokio::test]
async fn a_code_is_good_for_60_seconds() {
    let world = World::start().await;
    in_time(async || {
        let before = world.now_ms();
        let (transaction, code) = world.with_code(GOOGLE).await;
        world.advance_to(before + 60_000 - MARGIN_MS);
        let response = world.backend.redeem(&transaction, &code).await;
        let is_in_time = world.now_ms() < before + 60_000;
        is_in_time.then(|| assert_eq!(response.status, 200, "{}", response.text()))
    })
    .await;
    let (transaction, code) = world.with_code(GOOGLE).await;
    world.advance_seconds(60);
    world
        .backend
        .redeem(&transaction, &code)
        .await
        .is_refusal(400);
}

#[tokio::test]
async fn a_second_valid_redemption_is_refused_and_ends_the_first_ones_token() {
    let world = World::start().await;
    for provider in PROVIDERS {
        let (transaction, code) = world.with_code(provider).await;
        let token = world.backend.token(&transaction, &code).await;
        assert_eq!(world.backend.profile(&token).await.status, 200);
        world
            .backend
            .redeem(&transaction, &code)
            .await
            .is_refusal(400);
        world.backend.profile(&token).await.is(401, UNRECOGNISED);
    }
}

#[tokio::test]
async fn a_second_valid_redemption_ends_the_token_even_after_the_codes_own_end() {
    let world = World::start().await;
    let (transaction, code) = world.with_code(GOOGLE).await;
    let token = world.backend.token(&transaction, &code).await;
    world.advance_seconds(300);
    world
        .backend
        .redeem(&transaction, &code)
        .await
        .is_refusal(400);
    world.backend.profile(&token).await.is(401, UNRECOGNISED);
}

#[tokio::test]
async fn a_second_invalid_redemption_leaves_the_first_ones_token_alone() {
    let world = World::start().await;
    let (transaction, code) = world.with_code(GOOGLE).await;
    let token = world.backend.token(&transaction, &code).await;
    redeem_wrongly(&world, &transaction, &code).await;
    assert_eq!(world.backend.profile(&token).await.status, 200);
}

#[tokio::test]
async fn an_invalid_redemption_leaves_the_code_alone() {
    let world = World::start().await;
    let (transaction, code) = world.with_code(GOOGLE).await;
    redeem_wrongly(&world, &transaction, &code).await;
    let response = world.backend.redeem(&transaction, &code).await;
    assert_eq!(response.status, 200, "{}", response.text());
}

/// Presents `code` with everything right but one thing, in every way.
async fn redeem_wrongly(world: &World, transaction: &Transaction, code: &str) {
    let right = world.backend.token_body(&transaction.verifier, code);
    for (field, wrong) in [
        ("code_verifier", fresh::secret()),
        ("redirect_uri", "http://localhost:9/elsewhere".to_owned()),
        ("code", fresh::secret()),
        ("code", code[..42].to_owned()),
    ] {
        let mut body = right.clone();
        body[field] = wrong.into();
        world.backend.post("/v1/token", &body).await.is_refusal(400);
    }
    for (field, wrong) in [("client_secret", "wrong"), ("client_id", "somebody")] {
        let mut body = right.clone();
        body[field] = wrong.into();
        world
            .backend
            .post("/v1/token", &body)
            .await
            .is(401, UNRECOGNISED);
    }
    // Another project, with its own credentials and with our callback or its own.
    let other = world.other_project("Another app").await;
    other.redeem(transaction, code).await.is_refusal(400);
    let disguised = Backend {
        callback: world.backend.callback.clone(),
        ..other
    };
    disguised.redeem(transaction, code).await.is_refusal(400);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_64_redemptions_at_once_one_succeeds_and_the_others_end_its_token() {
    let world = World::start().await;
    let (transaction, code) = world.with_code(GOOGLE).await;
    let responses = at_once(64, &world.backend, |backend| {
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
    world.backend.profile(&token).await.is(401, UNRECOGNISED);
}

// The access token.

#[tokio::test]
async fn a_token_is_good_for_900_seconds() {
    let world = World::start().await;
    in_time(async || {
        let (transaction, code) = world.with_code(GITHUB).await;
        let before = world.now_ms();
        let token = world.backend.token(&transaction, &code).await;
        world.advance_to(before + 900_000 - MARGIN_MS);
        let response = world.backend.profile(&token).await;
        let is_in_time = world.now_ms() < before + 900_000;
        is_in_time.then(|| assert_eq!(response.status, 200, "{}", response.text()))
    })
    .await;
    let (transaction, code) = world.with_code(GITHUB).await;
    let token = world.backend.token(&transaction, &code).await;
    world.advance_seconds(900);
    let response = world.backend.profile(&token).await;
    response.is(401, UNRECOGNISED);
    assert_eq!(
        response.header("www-authenticate"),
        Some("Bearer error=\"invalid_token\"")
    );
}

#[tokio::test]
async fn a_profile_may_be_read_as_often_as_one_likes() {
    let world = World::start().await;
    let (transaction, code) = world.with_code(GOOGLE).await;
    let token = world.backend.token(&transaction, &code).await;
    let first = world.backend.profile(&token).await;
    for _ in 0..10 {
        assert_eq!(world.backend.profile(&token).await.text(), first.text());
    }
}

#[tokio::test]
async fn revoking_is_the_same_for_live_dead_and_unknown_tokens() {
    let world = World::start().await;
    let (transaction, code) = world.with_code(GOOGLE).await;
    let token = world.backend.token(&transaction, &code).await;
    let unknown = format!("fsi_{}", fresh::secret());
    for token in [&token, &token, &unknown] {
        world.backend.revoke(token).await.is(200, "{}");
    }
    world.backend.profile(&token).await.is(401, UNRECOGNISED);
    world.advance_seconds(2_000);
    world.backend.revoke(&token).await.is(200, "{}");
}

#[tokio::test]
async fn revoking_one_token_leaves_another_of_the_same_person_alone() {
    let world = World::start().await;
    let mut tokens = Vec::new();
    for _ in 0..2 {
        let (transaction, code) = world.with_code(GOOGLE).await;
        tokens.push(world.backend.token(&transaction, &code).await);
    }
    world.backend.revoke(&tokens[0]).await;
    world
        .backend
        .profile(&tokens[0])
        .await
        .is(401, UNRECOGNISED);
    assert_eq!(world.backend.profile(&tokens[1]).await.status, 200);
}

#[tokio::test]
async fn no_other_secret_passes_for_a_token() {
    let world = World::start().await;
    let (transaction, code) = world.with_code(GOOGLE).await;
    let login = world.backend.start_login(GOOGLE).await;
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
        &world.backend.client_secret,
        "fsi_",
    ] {
        world.backend.profile(other).await.is(401, UNRECOGNISED);
    }
    let bare = world.backend.request(Method::GET, "/v1/profile");
    let response = bare.send().await;
    response.is(401, UNRECOGNISED);
    assert_eq!(response.header("www-authenticate"), Some("Bearer"));
}
