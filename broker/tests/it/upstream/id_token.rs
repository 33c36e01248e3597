//! Forged, malformed and stolen ID tokens, each of which is refused.

use contract::Digest;
use contract::Provider::Google;
use jsonwebtoken::{Algorithm, EncodingKey};
use serde_json::{Value, json};

use super::{
    FakeProviders, KEY_ONE, KEY_TWO, StartedLogin, adas_claims, jwk, key_set, signed, signing_key,
    token,
};
use crate::fake_provider::{ACCESS_TOKEN, CERTIFICATE_KEY, FakeProvider};
use crate::test_broker::with;

fn right_header() -> Value {
    json!({ "alg": "RS256", "kid": "one", "typ": "JWT" })
}

/// Checks that a login is refused in which Google returns the token that `make` returns.
async fn assert_refused(
    providers: &FakeProviders,
    make: impl FnOnce(&StartedLogin<'_>) -> String,
    what: &str,
) {
    let result = providers.log_in_by(make).await;
    assert_eq!(result.unwrap_err(), "invalid_provider_response", "{what}");
}

/// A token of Ada with one claim changed, or removed if `value` is null.
fn token_with(login: &StartedLogin<'_>, name: &str, value: &Value) -> String {
    let mut claims = adas_claims(login);
    match value {
        Value::Null => drop(claims.as_object_mut().unwrap().remove(name)),
        value => claims[name] = value.clone(),
    }
    token(&right_header(), &claims)
}

/// Checks that each of these values of a claim is refused.
async fn check_claim(providers: &FakeProviders, name: &str, values: &Value) {
    for value in values.as_array().unwrap() {
        let make = |login: &StartedLogin<'_>| token_with(login, name, value);
        assert_refused(providers, make, &format!("{name} {value}")).await;
    }
}

#[tokio::test]
async fn a_valid_token_counts_with_and_without_its_optional_claims() {
    let providers = FakeProviders::start().await;
    let hash = Digest::of(ACCESS_TOKEN.as_bytes()).to_text();
    // Half of 32 bytes is 21 characters and two bits.
    let mut accepted = 0;
    for last in ["A", "Q", "g", "w"] {
        let at_hash = json!(format!("{}{last}", &hash[..21]));
        let result = providers.log_in_by(|login| token_with(login, "at_hash", &at_hash));
        accepted += usize::from(result.await.is_ok());
    }
    assert_eq!(accepted, 1, "one of the four last characters is right");
    for name in ["azp", "at_hash", "name", "picture", "email"] {
        let result = providers.log_in_by(|login| token_with(login, name, &Value::Null));
        assert!(result.await.is_ok(), "without {name}");
    }
}

// Threats: B4.
#[tokio::test]
async fn b15_every_claim_is_required_and_of_its_type() {
    let providers = FakeProviders::start().await;
    let url = providers.google.url();
    let (_, without_scheme) = url.split_once("://").unwrap();
    let other = providers.start_legacy_login(Google).await;
    for name in ["iss", "aud", "exp", "iat", "nonce"] {
        check_claim(&providers, name, &json!([null, "", [], {}, true, "x"])).await;
    }
    for (name, values) in [
        ("iss", json!(["accounts.google.com", without_scheme])),
        ("nonce", json!([other.parameter("nonce"), 1])),
        ("aud", json!([["us"], ["us", "them"]])),
        ("azp", json!(["", ["us"]])),
        ("exp", json!([1.5, -1, i64::MIN])),
        ("iat", json!([i64::MAX])),
        ("at_hash", json!(["", 1])),
        ("sub", json!([null, "", 108_204_268_033_311_374_i64, ["1"]])),
        (
            "sub",
            json!(["1".repeat(256), "1 2", "1\u{0}", "ä", "\u{202E}1"]),
        ),
    ] {
        check_claim(&providers, name, &values).await;
    }
    let longest = json!("1".repeat(255));
    let result = providers.log_in_by(|login| token_with(login, "sub", &longest));
    assert!(result.await.is_ok());
}

/// The same token with an empty signature.
fn unsigned(token: &str) -> String {
    format!("{}.", token.rsplit_once('.').unwrap().0)
}

#[tokio::test]
async fn b15_a_signature_is_by_the_key_that_the_header_names() {
    let providers = FakeProviders::start().await;
    let by_two = signed(right_header(), signing_key(KEY_TWO), Algorithm::RS256);
    assert_refused(&providers, by_two, "another key").await;
    let right = |login: &StartedLogin<'_>| token(&right_header(), &adas_claims(login));
    assert_refused(&providers, |login| unsigned(&right(login)), "no signature").await;
    for end in ["=", ".a"] {
        assert_refused(&providers, |login| format!("{}{end}", right(login)), end).await;
    }
    for text in ["", ".", "..", "...", "a", "e30.e30.", "\u{0}", "ä.ö.ü"] {
        assert_refused(&providers, |_| text.to_owned(), text).await;
    }
}

#[tokio::test]
async fn b16_no_algorithm_but_rs256_counts() {
    let providers = FakeProviders::start().await;
    let header = |alg: &Value| json!({ "alg": alg, "kid": "one" });
    let none =
        |login: &StartedLogin<'_>| unsigned(&token(&header(&json!("none")), &adas_claims(login)));
    assert_refused(&providers, none, "none").await;
    // The public key, used as a shared secret.
    let public = jwk("one", KEY_ONE);
    let modulus = public["n"].as_str().unwrap();
    let secret = |text: &str| EncodingKey::from_secret(text.as_bytes());
    let curve = EncodingKey::from_ec_pem(CERTIFICATE_KEY.as_bytes()).unwrap();
    for (name, key, algorithm) in [
        ("HS256", secret(&public.to_string()), Algorithm::HS256),
        ("HS256", secret(modulus), Algorithm::HS256),
        ("RS384", signing_key(KEY_ONE), Algorithm::RS384),
        ("RS512", signing_key(KEY_ONE), Algorithm::RS512),
        ("PS256", signing_key(KEY_ONE), Algorithm::PS256),
        ("ES256", curve, Algorithm::ES256),
    ] {
        let other = signed(header(&json!(name)), key, algorithm);
        assert_refused(&providers, other, name).await;
    }
    for alg in json!(["rs256", "RS256 ", 1, null]).as_array().unwrap() {
        let odd = |login: &StartedLogin<'_>| token(&header(alg), &adas_claims(login));
        assert_refused(&providers, odd, &alg.to_string()).await;
    }
}

#[tokio::test]
async fn b16_a_token_cannot_bring_its_own_key() {
    let providers = FakeProviders::start().await;
    let elsewhere = FakeProvider::start().await;
    elsewhere.set_reply("/keys", key_set(&[jwk("one", KEY_TWO)]));
    let url = format!("{}/keys", elsewhere.url());
    for (name, value) in [
        ("jwk", jwk("one", KEY_TWO)),
        ("jku", json!(url)),
        ("x5u", json!(url)),
        ("crit", json!(["jku"])),
    ] {
        let header = with(right_header(), name, value);
        let by_two = signed(header, signing_key(KEY_TWO), Algorithm::RS256);
        assert_refused(&providers, by_two, name).await;
    }
    assert!(elsewhere.calls().is_empty());
}
