//! The claims and the signature of Google's ID token.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, crypto};
use mock_upstream::{Misbehaviour, Next};
use serde_json::{Value, json};

use super::{GOOGLE, mock_with};
use crate::google::id_token::verified;
use crate::google::keys::{key_set, kids};
use crate::test_mock::{CLIENT_ID, NONCE, TestMock};

/// The claims of a token with a valid signature.
async fn claims(misbehaviour: Misbehaviour) -> (TestMock, Value) {
    let mock = mock_with(GOOGLE, misbehaviour).await;
    let token = mock.sign_in(GOOGLE).await.text("id_token");
    let claims = verified(&mock, &token).await.unwrap();
    (mock, claims)
}

/// A decoded part of a token.
fn part(token: &str, index: usize) -> String {
    let part = token.split('.').nth(index).unwrap();
    String::from_utf8(URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap()
}

async fn token(misbehaviour: Misbehaviour) -> (TestMock, String) {
    let mock = mock_with(GOOGLE, misbehaviour).await;
    let token = mock.sign_in(GOOGLE).await.text("id_token");
    (mock, token)
}

fn header(token: &str) -> Value {
    serde_json::from_str(&part(token, 0)).unwrap()
}

#[tokio::test]
async fn a_nonce_can_be_another_one_or_missing() {
    let (_, claims_with_another) = claims(Misbehaviour::WrongNonce).await;
    assert_ne!(claims_with_another["nonce"], NONCE);
    assert!(claims_with_another["nonce"].is_string());
    let (_, claims_with_none) = claims(Misbehaviour::NoNonce).await;
    assert_eq!(claims_with_none.get("nonce"), None);
}

#[tokio::test]
async fn a_token_can_be_for_another_client() {
    let (mock, token) = token(Misbehaviour::WrongAudience).await;
    let refused = verified(&mock, &token).await.unwrap_err();
    let claims: Value = serde_json::from_str(&part(&token, 1)).unwrap();
    assert_eq!(refused, "InvalidAudience");
    assert_eq!(claims["aud"], "another-client.apps.example");
    assert_eq!(claims["azp"], claims["aud"]);
}

#[tokio::test]
async fn a_token_can_be_issued_to_another_client() {
    let (_, claims) = claims(Misbehaviour::WrongAzp).await;
    assert_eq!(claims["aud"], CLIENT_ID);
    assert_eq!(claims["azp"], "another-client.apps.example");
}

#[tokio::test]
async fn a_token_can_have_another_issuer() {
    let (_, claims) = claims(Misbehaviour::WrongIssuer).await;
    assert_eq!(claims["iss"], "https://issuer.example");
}

#[tokio::test]
async fn at_hash_can_belong_to_another_access_token() {
    let mock = mock_with(GOOGLE, Misbehaviour::WrongAtHash).await;
    let answer = mock.sign_in(GOOGLE).await;
    let claims = verified(&mock, &answer.text("id_token")).await.unwrap();
    let expected = crate::google::id_token::at_hash(&answer.text("access_token"));
    assert_ne!(claims["at_hash"], expected);
    assert_eq!(claims["at_hash"].as_str().unwrap().len(), expected.len());
}

async fn check_times(misbehaviour: Misbehaviour, iat: i64, exp: i64) {
    let (mock, claims) = claims(misbehaviour).await;
    let now = mock.now_ms() / 1000;
    let times = (claims["iat"].as_i64(), claims["exp"].as_i64());
    assert_eq!(
        times,
        (Some(now + iat), Some(now + exp)),
        "{misbehaviour:?}"
    );
}

#[tokio::test]
async fn a_token_can_be_of_another_time() {
    check_times(Misbehaviour::ExpiredIdToken, -7200, -3600).await;
    check_times(Misbehaviour::IssuedInTheFuture, 3600, 7200).await;
    check_times(Misbehaviour::ClockAhead, 30, 3630).await;
    check_times(Misbehaviour::ClockBehind, -3630, -30).await;
}

#[tokio::test]
async fn a_sub_can_occur_twice_under_a_valid_signature() {
    let (mock, token) = token(Misbehaviour::DuplicateClaims).await;
    let claims = part(&token, 1);
    assert!(claims.starts_with(r#"{"sub":"forged","#));
    assert_eq!(claims.matches(r#""sub":"#).count(), 2);
    assert!(is_signed_by_a_published_key(&mock, &token).await);
}

// Google OIDC guide: at most 255 ASCII characters.
#[tokio::test]
async fn a_sub_can_be_empty_or_too_long_or_a_number() {
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
    let (mock, token) = token(Misbehaviour::BadSignature).await;
    let refused = verified(&mock, &token).await.unwrap_err();
    assert_eq!(refused, "InvalidSignature");
}

#[tokio::test]
async fn an_unknown_or_missing_kid_hides_a_published_key() {
    let (mock, unknown) = token(Misbehaviour::UnknownKid).await;
    let kid = header(&unknown)["kid"].clone();
    assert_eq!(kid.as_str().unwrap().len(), 40);
    assert!(!kids(&mock).await.contains(&kid));
    assert!(is_signed_by_a_published_key(&mock, &unknown).await);

    let (mock, missing) = token(Misbehaviour::NoKid).await;
    assert_eq!(header(&missing), json!({ "alg": "RS256", "typ": "JWT" }));
    assert!(is_signed_by_a_published_key(&mock, &missing).await);
}

#[tokio::test]
async fn a_stale_key_set_lacks_the_kid_and_the_key() {
    let (mock, token) = token(Misbehaviour::StaleKeys).await;
    assert!(!kids(&mock).await.contains(&header(&token)["kid"]));
    assert!(!is_signed_by_a_published_key(&mock, &token).await);
}

async fn is_signed_by_a_published_key(mock: &TestMock, token: &str) -> bool {
    let (message, signature) = token.rsplit_once('.').unwrap();
    let keys = key_set(mock).await.json();
    let mut keys = keys["keys"].as_array().unwrap().iter();
    keys.any(|key| {
        let (n, e) = (key["n"].as_str().unwrap(), key["e"].as_str().unwrap());
        let key = jsonwebtoken::DecodingKey::from_rsa_components(n, e).unwrap();
        crypto::verify(signature, message.as_bytes(), &key, Algorithm::RS256).unwrap()
    })
}

#[tokio::test]
async fn alg_none_has_no_signature() {
    let (mock, token) = token(Misbehaviour::AlgNone).await;
    assert_eq!(header(&token)["alg"], "none");
    assert!(kids(&mock).await.contains(&header(&token)["kid"]));
    assert!(token.ends_with('.'));
}

// The public key as a shared secret: RFC 8725, section 2.1.
#[tokio::test]
async fn hs256_is_keyed_with_the_public_key() {
    let (mock, token) = token(Misbehaviour::AlgHs256).await;
    let (message, signature) = token.rsplit_once('.').unwrap();
    let keys = key_set(&mock).await.json();
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
    let (mock, token) = token(Misbehaviour::AlgEs256).await;
    let (_, signature) = token.rsplit_once('.').unwrap();
    assert_eq!(header(&token)["alg"], "ES256");
    assert!(kids(&mock).await.contains(&header(&token)["kid"]));
    assert_eq!(URL_SAFE_NO_PAD.decode(signature).unwrap().len(), 64);
}

#[tokio::test]
async fn the_key_set_fails_once_after_the_token() {
    let mock = mock_with(GOOGLE, Misbehaviour::Keys500).await;
    assert_eq!(key_set(&mock).await.status, 200);
    let token = mock.sign_in(GOOGLE).await.text("id_token");
    key_set(&mock).await.assert_page(500, "500");
    assert!(!kids(&mock).await.contains(&header(&token)["kid"]));
}

#[tokio::test]
async fn the_key_set_can_be_silent_once_after_the_token() {
    let mock = mock_with(GOOGLE, Misbehaviour::KeysTimeout).await;
    mock.sign_in(GOOGLE).await;
    let url = format!("{}/oauth2/v3/certs", mock.upstreams.google().url());
    let request = mock.request(reqwest::Method::GET, &url);
    let timeout = std::time::Duration::from_millis(100);
    let silence = request.timeout(timeout).send().await.unwrap_err();
    assert!(silence.is_timeout());
    assert_eq!(key_set(&mock).await.status, 200);
}

#[tokio::test]
async fn a_failure_of_the_key_set_expires_after_ten_seconds() {
    let mock = mock_with(GOOGLE, Misbehaviour::Keys500).await;
    mock.sign_in(GOOGLE).await;
    mock.advance_ms(10_000);
    assert_eq!(key_set(&mock).await.status, 200);
}

#[tokio::test]
async fn a_failure_of_the_key_set_ends_with_the_next_unknown_key() {
    for next in [Misbehaviour::UnknownKid, Misbehaviour::StaleKeys] {
        let mock = mock_with(GOOGLE, Misbehaviour::Keys500).await;
        mock.sign_in(GOOGLE).await;
        mock.queue(GOOGLE, Next::Misbehave(next));
        mock.sign_in(GOOGLE).await;
        assert_eq!(key_set(&mock).await.status, 200, "{next:?}");
    }
}
