//! What goes wrong when it is told to.

use std::io::{Read, Write};
use std::net::TcpStream;

use mock_upstream::{Misbehaviour, Next, Provider};

use crate::google_id_token::verified;
use crate::world::{NONCE, STATE, Seen, World, authorization, redemption};

const GOOGLE: Provider = Provider::Google;
const GITHUB: Provider = Provider::GitHub;

async fn world_with(provider: Provider, misbehaviour: Misbehaviour) -> World {
    let world = World::new().await;
    world.queue(provider, Next::Misbehave(misbehaviour));
    world
}

async fn token_answer(provider: Provider, misbehaviour: Misbehaviour) -> Seen {
    world_with(provider, misbehaviour)
        .await
        .sign_in(provider)
        .await
}

#[test]
fn every_misbehaviour_has_a_name_that_leads_back_to_it() {
    for provider in Provider::ALL {
        for &misbehaviour in Misbehaviour::of(provider) {
            let parsed = Misbehaviour::parse(provider, misbehaviour.name());
            assert_eq!(parsed, Ok(misbehaviour));
        }
    }
}

#[test]
fn an_unknown_name_is_answered_with_the_known_ones() {
    let refused = Misbehaviour::parse(GITHUB, "wrong_nonce").unwrap_err();
    let known = "GitHub can misbehave as: deny, server_error, reset, token_refused, token_garbage";
    assert_eq!(refused.to_string(), known);
}

#[tokio::test]
async fn what_a_provider_cannot_do_wrong_is_not_queued() {
    let world = World::new().await;
    let next = Next::Misbehave(Misbehaviour::BadSignature);
    assert!(world.mock.github().queue(next.clone()).is_err());
    assert!(world.mock.google().queue(next).is_ok());
}

#[tokio::test]
async fn google_fails_in_the_callback() {
    let world = world_with(GOOGLE, Misbehaviour::ServerError).await;
    let callback = world
        .authorize(GOOGLE, &authorization(GOOGLE))
        .await
        .callback();
    assert_eq!(callback.get("error"), Some("server_error"));
    assert_eq!(callback.get("state"), Some(STATE));
    assert_eq!(callback.get("code"), None);
}

#[tokio::test]
async fn github_fails_at_the_token_call_with_a_page() {
    let seen = token_answer(GITHUB, Misbehaviour::ServerError).await;
    seen.assert_page(500, "500");
}

#[tokio::test]
async fn a_reset_closes_the_token_call_without_a_byte() {
    for provider in Provider::ALL {
        let world = world_with(provider, Misbehaviour::Reset).await;
        let code = world.code(provider).await;
        let received = raw_token_call(&world, provider, &code);
        assert_eq!(received, b"", "{provider}");
        assert_eq!(
            world.upstream(provider).journal().last().unwrap().status,
            None
        );
    }
}

#[tokio::test]
async fn the_sign_in_after_a_reset_is_served() {
    let world = world_with(GOOGLE, Misbehaviour::Reset).await;
    let code = world.code(GOOGLE).await;
    raw_token_call(&world, GOOGLE, &code);
    assert_eq!(world.sign_in(GOOGLE).await.status, 200);
}

/// What comes back on the wire, to the end of the connection.
fn raw_token_call(world: &World, provider: Provider, code: &str) -> Vec<u8> {
    let url = world.token_url(provider);
    let (host, path) = url
        .strip_prefix("http://")
        .unwrap()
        .split_once('/')
        .unwrap();
    let body = redemption(code).encoded();
    let length = body.len();
    let mut stream = TcpStream::connect(host).unwrap();
    write!(
        stream,
        "POST /{path} HTTP/1.1\r\nHost: {host}\r\nContent-Length: {length}\r\n\
         Content-Type: application/x-www-form-urlencoded\r\n\r\n{body}"
    )
    .unwrap();
    let mut received = Vec::new();
    stream.read_to_end(&mut received).unwrap();
    received
}

#[tokio::test]
async fn a_refused_code_is_refused_as_each_provider_does() {
    let google = token_answer(GOOGLE, Misbehaviour::TokenRefused).await;
    google.assert_error(400, "invalid_grant", "Bad Request");
    let github = token_answer(GITHUB, Misbehaviour::TokenRefused).await;
    let description = "The code passed is incorrect or expired.";
    github.assert_error(200, "bad_verification_code", description);
}

#[tokio::test]
async fn garbage_is_a_200_with_broken_json() {
    for provider in Provider::ALL {
        let seen = token_answer(provider, Misbehaviour::TokenGarbage).await;
        assert_eq!(seen.status, 200);
        assert_eq!(
            seen.header("content-type"),
            "application/json; charset=utf-8"
        );
        assert!(serde_json::from_str::<serde_json::Value>(&seen.body).is_err());
    }
}

#[tokio::test]
async fn a_wrong_nonce_is_in_a_token_that_verifies() {
    let world = world_with(GOOGLE, Misbehaviour::WrongNonce).await;
    let token = world.sign_in(GOOGLE).await.text("id_token");
    let claims = verified(&world, &token).await.unwrap();
    assert_ne!(claims["nonce"], NONCE);
    assert!(claims["nonce"].is_string());
}

#[tokio::test]
async fn a_bad_signature_does_not_verify_with_the_key_it_names() {
    let world = world_with(GOOGLE, Misbehaviour::BadSignature).await;
    let token = world.sign_in(GOOGLE).await.text("id_token");
    let refused = verified(&world, &token).await.unwrap_err();
    assert_eq!(refused, "InvalidSignature");
}

#[tokio::test]
async fn a_misbehaviour_concerns_its_own_sign_in() {
    let world = world_with(GOOGLE, Misbehaviour::TokenRefused).await;
    let spoiled = redemption(&world.code(GOOGLE).await);
    let sound = redemption(&world.code(GOOGLE).await);
    assert_eq!(world.token(GOOGLE, &sound).await.status, 200);
    assert_eq!(world.token(GOOGLE, &spoiled).await.status, 400);
}

#[tokio::test]
async fn a_misbehaviour_does_not_hide_a_request_that_is_wrong_itself() {
    let world = world_with(GOOGLE, Misbehaviour::TokenGarbage).await;
    let form = redemption(&world.code(GOOGLE).await).without("code_verifier");
    let seen = world.token(GOOGLE, &form).await;
    seen.assert_error(400, "invalid_grant", "Missing code verifier.");
}
