//! What Google's ID token says, and how it is signed.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, crypto};
use mock_upstream::Misbehaviour;
use serde_json::{Value, json};

use super::{GOOGLE, world_with};
use crate::google_id_token::verified;
use crate::google_keys::{key_set, kids};
use crate::world::{CLIENT_ID, NONCE, World};

/// The claims of a token whose signature is sound.
async fn claims(misbehaviour: Misbehaviour) -> (World, Value) {
    let world = world_with(GOOGLE, misbehaviour).await;
    let token = world.sign_in(GOOGLE).await.text("id_token");
    let claims = verified(&world, &token).await.unwrap();
    (world, claims)
}

/// A part of a token, as text.
fn part(token: &str, index: usize) -> String {
    let part = token.split('.').nth(index).unwrap();
    String::from_utf8(URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap()
}

async fn token(misbehaviour: Misbehaviour) -> (World, String) {
    let world = world_with(GOOGLE, misbehaviour).await;
    let token = world.sign_in(GOOGLE).await.text("id_token");
    (world, token)
}

fn header(token: &str) -> Value {
    serde_json::from_str(&part(token, 0)).unwrap()
}

#[tokio::test]
async fn a_nonce_may_be_another_or_none() {
    let (_, claims_with_another) = claims(Misbehaviour::WrongNonce).await;
    assert_ne!(claims_with_another["nonce"], NONCE);
    assert!(claims_with_another["nonce"].is_string());
    let (_, claims_with_none) = claims(Misbehaviour::NoNonce).await;
    assert_eq!(claims_with_none.get("nonce"), None);
}

#[tokio::test]
async fn a_token_may_be_for_another_client() {
    let (world, token) = token(Misbehaviour::WrongAudience).await;
    let refused = verified(&world, &token).await.unwrap_err();
    let claims: Value = serde_json::from_str(&part(&token, 1)).unwrap();
    assert_eq!(refused, "InvalidAudience");
    assert_eq!(claims["aud"], "another-client.apps.example");
    assert_eq!(claims["azp"], claims["aud"]);
}

#[tokio::test]
async fn another_client_may_have_asked_for_it() {
    let (_, claims) = claims(Misbehaviour::WrongAzp).await;
    assert_eq!(claims["aud"], CLIENT_ID);
    assert_eq!(claims["azp"], "another-client.apps.example");
}

#[tokio::test]
async fn another_issuer_may_be_named() {
    let (_, claims) = claims(Misbehaviour::WrongIssuer).await;
    assert_eq!(claims["iss"], "https://issuer.example");
}

#[tokio::test]
async fn at_hash_may_belong_to_another_access_token() {
    let world = world_with(GOOGLE, Misbehaviour::WrongAtHash).await;
    let answer = world.sign_in(GOOGLE).await;
    let claims = verified(&world, &answer.text("id_token")).await.unwrap();
    let right = crate::google_id_token::at_hash(&answer.text("access_token"));
    assert_ne!(claims["at_hash"], right);
    assert_eq!(claims["at_hash"].as_str().unwrap().len(), right.len());
}

async fn check_times(misbehaviour: Misbehaviour, iat: i64, exp: i64) {
    let (world, claims) = claims(misbehaviour).await;
    let now = world.now_ms() / 1000;
    let times = (claims["iat"].as_i64(), claims["exp"].as_i64());
    assert_eq!(
        times,
        (Some(now + iat), Some(now + exp)),
        "{misbehaviour:?}"
    );
}

#[tokio::test]
async fn a_token_may_be_of_another_time() {
    check_times(Misbehaviour::ExpiredIdToken, -7200, -3600).await;
    check_times(Misbehaviour::IssuedInTheFuture, 3600, 7200).await;
    check_times(Misbehaviour::ClockAhead, 30, 3630).await;
    check_times(Misbehaviour::ClockBehind, -3630, -30).await;
}

#[tokio::test]
async fn a_sub_may_come_twice_under_a_sound_signature() {
    let (world, token) = token(Misbehaviour::DuplicateClaims).await;
    let claims = part(&token, 1);
    assert!(claims.starts_with(r#"{"sub":"forged","#));
    assert_eq!(claims.matches(r#""sub":"#).count(), 2);
    assert!(is_signed_by_a_published_key(&world, &token).await);
}

// Google OIDC guide: at most 255 ASCII characters.
#[tokio::test]
async fn a_sub_may_be_no_sub() {
    for (misbehaviour, sub) in [
        (Misbehaviour::SubEmpty, json!("")),
        (Misbehaviour::SubTooLong, json!("1".repeat(256))),
        (Misbehaviour::SubNumber, json!(100_000_000_000_000_001_u64)),
    ] {
        let (_, claims) = claims(misbehaviour).await;
        assert_eq!(claims["sub"], sub);
    }
}

#[tokio::test]
async fn a_bad_signature_does_not_verify_with_the_key_it_names() {
    let (world, token) = token(Misbehaviour::BadSignature).await;
    let refused = verified(&world, &token).await.unwrap_err();
    assert_eq!(refused, "InvalidSignature");
}

#[tokio::test]
async fn an_unknown_or_missing_kid_hides_a_published_key() {
    let (world, unknown) = token(Misbehaviour::UnknownKid).await;
    let kid = header(&unknown)["kid"].clone();
    assert_eq!(kid.as_str().unwrap().len(), 40);
    assert!(!kids(&world).await.contains(&kid));
    assert!(is_signed_by_a_published_key(&world, &unknown).await);

    let (world, missing) = token(Misbehaviour::NoKid).await;
    assert_eq!(header(&missing), json!({ "alg": "RS256", "typ": "JWT" }));
    assert!(is_signed_by_a_published_key(&world, &missing).await);
}

#[tokio::test]
async fn a_stale_key_set_shows_neither_the_kid_nor_the_key() {
    let (world, token) = token(Misbehaviour::StaleKeys).await;
    assert!(!kids(&world).await.contains(&header(&token)["kid"]));
    assert!(!is_signed_by_a_published_key(&world, &token).await);
}

async fn is_signed_by_a_published_key(world: &World, token: &str) -> bool {
    let (message, signature) = token.rsplit_once('.').unwrap();
    let keys = key_set(world).await.json();
    let mut keys = keys["keys"].as_array().unwrap().iter();
    keys.any(|key| {
        let (n, e) = (key["n"].as_str().unwrap(), key["e"].as_str().unwrap());
        let key = jsonwebtoken::DecodingKey::from_rsa_components(n, e).unwrap();
        crypto::verify(signature, message.as_bytes(), &key, Algorithm::RS256).unwrap()
    })
}

#[tokio::test]
async fn alg_none_has_no_signature() {
    let (world, token) = token(Misbehaviour::AlgNone).await;
    assert_eq!(header(&token)["alg"], "none");
    assert!(kids(&world).await.contains(&header(&token)["kid"]));
    assert!(token.ends_with('.'));
}

// The public key as a shared secret: RFC 8725, section 2.1.
#[tokio::test]
async fn hs256_is_keyed_with_what_everybody_knows() {
    let (world, token) = token(Misbehaviour::AlgHs256).await;
    let (message, signature) = token.rsplit_once('.').unwrap();
    let keys = key_set(&world).await.json();
    let kid = header(&token)["kid"].clone();
    let mut published = keys["keys"].as_array().unwrap().iter();
    let key = published.find(|key| key["kid"] == kid).unwrap();
    let secret = key["n"].as_str().unwrap().as_bytes();
    let key = jsonwebtoken::DecodingKey::from_secret(secret);
    assert_eq!(header(&token)["alg"], "HS256");
    assert!(crypto::verify(signature, message.as_bytes(), &key, Algorithm::HS256).unwrap());
}

#[tokio::test]
async fn es256_comes_under_the_kid_of_an_rsa_key() {
    let (world, token) = token(Misbehaviour::AlgEs256).await;
    let (_, signature) = token.rsplit_once('.').unwrap();
    assert_eq!(header(&token)["alg"], "ES256");
    assert!(kids(&world).await.contains(&header(&token)["kid"]));
    assert_eq!(URL_SAFE_NO_PAD.decode(signature).unwrap().len(), 64);
}

#[tokio::test]
async fn the_key_set_is_in_trouble_once_after_the_token() {
    let world = world_with(GOOGLE, Misbehaviour::Keys500).await;
    assert_eq!(key_set(&world).await.status, 200);
    let token = world.sign_in(GOOGLE).await.text("id_token");
    key_set(&world).await.assert_page(500, "500");
    assert!(!kids(&world).await.contains(&header(&token)["kid"]));
}

#[tokio::test]
async fn the_key_set_may_be_silent_once_after_the_token() {
    let world = world_with(GOOGLE, Misbehaviour::KeysTimeout).await;
    world.sign_in(GOOGLE).await;
    let url = format!("{}/oauth2/v3/certs", world.mock.google().url());
    let request = world.request(reqwest::Method::GET, &url);
    let patience = std::time::Duration::from_millis(100);
    let silence = request.timeout(patience).send().await.unwrap_err();
    assert!(silence.is_timeout());
    assert_eq!(key_set(&world).await.status, 200);
}

#[tokio::test]
async fn trouble_with_keys_that_nobody_looked_for_is_over_soon() {
    let world = world_with(GOOGLE, Misbehaviour::Keys500).await;
    world.sign_in(GOOGLE).await;
    world.advance_ms(10_000);
    assert_eq!(key_set(&world).await.status, 200);
}
