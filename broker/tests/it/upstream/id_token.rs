//! Forged, malformed and stolen ID tokens, each of which is refused.

use contract::Digest;
use contract::Provider::Google;
use jsonwebtoken::{Algorithm, EncodingKey};
use serde_json::{Value, json};

use super::providers::{
    ACCESS_TOKEN, FakeProviders, KEY_ONE, KEY_TWO, StartedLogin, adas_claims, jwk, signing_key,
    token, token_signed_by,
};
use crate::test_broker::CALLBACK;

fn right_header() -> Value {
    json!({ "alg": "RS256", "kid": "one", "typ": "JWT" })
}

/// Signs in through the clean flow, while Google returns the token that `make` returns.
async fn sign_in_with(
    providers: &FakeProviders,
    key: u8,
    make: impl Fn(&StartedLogin<'_>) -> String,
) -> Result<Value, String> {
    let login = providers.start_login(Google, key).await;
    login.google_returns_token(&make(&login));
    login
        .return_with("code=a-code")
        .await
        .redirects_to(CALLBACK);
    providers.result(key).await
}

/// Checks that a legacy login is refused in which Google returns the token that `make`
/// returns. A legacy login needs no fresh key.
async fn assert_refused(
    providers: &FakeProviders,
    make: impl Fn(&StartedLogin<'_>) -> String,
    what: &str,
) {
    let login = providers.start_legacy_login(Google).await;
    login.google_returns_token(&make(&login));
    let response = login.return_with("code=a-code").await;
    let response = response.location().unwrap();
    assert!(
        response.contains("error=invalid_provider_response"),
        "{what}: {response}"
    );
}

/// Ada's claims with one changed, or removed if `value` is null.
fn claims_with(login: &StartedLogin<'_>, name: &str, value: &Value) -> Value {
    let mut claims = adas_claims(login);
    match value {
        Value::Null => drop(claims.as_object_mut().unwrap().remove(name)),
        value => claims[name] = value.clone(),
    }
    claims
}

#[tokio::test]
async fn a_valid_token_counts_with_and_without_its_optional_claims() {
    let providers = FakeProviders::start().await;
    let hash = Digest::of(ACCESS_TOKEN.as_bytes());
    let hash = Digest::from_bytes(*hash.as_bytes()).to_text();
    // Half of 32 bytes is 21 characters and two bits.
    let half = &hash[..21];
    let at_hash = ('A'..='Z')
        .chain('a'..='z')
        .map(|last| format!("{half}{last}"));
    let mut accepted = 0;
    for at_hash in at_hash.filter(|it| it.ends_with(['A', 'Q', 'g', 'w'])) {
        let login = providers.start_legacy_login(Google).await;
        login.google_returns_claims(claims_with(&login, "at_hash", &json!(at_hash)));
        let response = login.return_with("code=a-code").await;
        accepted += usize::from(response.location().unwrap().contains("code="));
    }
    assert_eq!(accepted, 1, "one of the four last characters is right");
    for (key, name) in [
        (1, "azp"),
        (2, "at_hash"),
        (3, "name"),
        (4, "picture"),
        (5, "email"),
    ] {
        let outcome = sign_in_with(&providers, key, |login| {
            token(&right_header(), &claims_with(login, name, &Value::Null))
        });
        assert!(outcome.await.is_ok(), "without {name}");
    }
}

#[tokio::test]
async fn b04_a_token_with_another_nonce_is_refused() {
    let providers = FakeProviders::start().await;
    let other = providers
        .start_legacy_login(Google)
        .await
        .parameter("nonce");
    for nonce in [json!(other), json!(""), json!(1), Value::Null] {
        let make =
            |login: &StartedLogin<'_>| token(&right_header(), &claims_with(login, "nonce", &nonce));
        assert_refused(&providers, make, &nonce.to_string()).await;
    }
}

#[tokio::test]
async fn b15_every_claim_is_required_and_of_its_type() {
    let providers = FakeProviders::start().await;
    let odd = [
        Value::Null,
        json!(""),
        json!([]),
        json!({}),
        json!(true),
        json!("x"),
    ];
    for name in ["iss", "aud", "exp", "iat", "nonce"] {
        for value in &odd {
            let make =
                |login: &StartedLogin<'_>| token(&right_header(), &claims_with(login, name, value));
            assert_refused(&providers, make, &format!("{name} {value}")).await;
        }
    }
    let url = providers.google.url();
    let (_, without_scheme) = url.split_once("://").unwrap();
    for (name, value) in [
        ("iss", json!("accounts.google.com")),
        ("iss", json!(without_scheme)),
        ("aud", json!(["us"])),
        ("aud", json!(["us", "them"])),
        ("azp", json!("")),
        ("azp", json!(["us"])),
        ("exp", json!(1.5)),
        ("exp", json!(-1)),
        ("exp", json!(i64::MIN)),
        ("iat", json!(i64::MAX)),
        ("at_hash", json!("")),
        ("at_hash", json!(1)),
    ] {
        let make =
            |login: &StartedLogin<'_>| token(&right_header(), &claims_with(login, name, &value));
        assert_refused(&providers, make, &format!("{name} {value}")).await;
    }
}

#[tokio::test]
async fn b15_a_subject_is_a_short_ascii_text() {
    let providers = FakeProviders::start().await;
    for sub in [
        Value::Null,
        json!(""),
        json!(108_204_268_033_311_374_i64),
        json!("1".repeat(256)),
        json!("1 2"),
        json!("1\u{0}"),
        json!("ä"),
        json!("\u{202E}1"),
        json!(["1"]),
    ] {
        let make =
            |login: &StartedLogin<'_>| token(&right_header(), &claims_with(login, "sub", &sub));
        assert_refused(&providers, make, &sub.to_string()).await;
    }
    let longest = "1".repeat(255);
    let outcome = sign_in_with(&providers, 1, |login| {
        token(&right_header(), &claims_with(login, "sub", &json!(longest)))
    });
    assert_eq!(outcome.await.unwrap()["providerSubject"], longest);
}

#[tokio::test]
async fn b15_a_signature_is_by_the_key_that_the_header_names() {
    let providers = FakeProviders::start().await;
    let by_two = |login: &StartedLogin<'_>| {
        token_signed_by(
            &right_header(),
            &adas_claims(login),
            &signing_key(KEY_TWO),
            Algorithm::RS256,
        )
    };
    assert_refused(&providers, by_two, "another key").await;
    let bare = |login: &StartedLogin<'_>| {
        let token = token(&right_header(), &adas_claims(login));
        format!("{}.", token.rsplit_once('.').unwrap().0)
    };
    assert_refused(&providers, bare, "no signature").await;
    let padded =
        |login: &StartedLogin<'_>| format!("{}=", token(&right_header(), &adas_claims(login)));
    assert_refused(&providers, padded, "padding").await;
    let four =
        |login: &StartedLogin<'_>| format!("{}.a", token(&right_header(), &adas_claims(login)));
    assert_refused(&providers, four, "four parts").await;
    for text in ["", ".", "..", "...", "a", "e30.e30.", "\u{0}", "ä.ö.ü"] {
        assert_refused(&providers, |_| text.to_owned(), text).await;
    }
}

#[tokio::test]
async fn b16_no_algorithm_but_rs256_counts() {
    let providers = FakeProviders::start().await;
    let none = |login: &StartedLogin<'_>| {
        let header = json!({ "alg": "none", "kid": "one" });
        let token = token(&header, &adas_claims(login));
        format!("{}.", token.rsplit_once('.').unwrap().0)
    };
    assert_refused(&providers, none, "none").await;
    // The public key, used as a shared secret.
    let public = jwk("one", KEY_ONE);
    for secret in [public.to_string(), public["n"].as_str().unwrap().to_owned()] {
        let key = EncodingKey::from_secret(secret.as_bytes());
        let by_public_key = |login: &StartedLogin<'_>| {
            let header = json!({ "alg": "HS256", "kid": "one" });
            token_signed_by(&header, &adas_claims(login), &key, Algorithm::HS256)
        };
        assert_refused(&providers, by_public_key, "HS256").await;
    }
    for (name, algorithm) in [
        ("RS384", Algorithm::RS384),
        ("RS512", Algorithm::RS512),
        ("PS256", Algorithm::PS256),
    ] {
        let other = |login: &StartedLogin<'_>| {
            let header = json!({ "alg": name, "kid": "one" });
            token_signed_by(
                &header,
                &adas_claims(login),
                &signing_key(KEY_ONE),
                algorithm,
            )
        };
        assert_refused(&providers, other, name).await;
    }
    let curve = EncodingKey::from_ec_pem(include_bytes!("keys/tls-key.pem")).unwrap();
    let elliptic = |login: &StartedLogin<'_>| {
        let header = json!({ "alg": "ES256", "kid": "one" });
        token_signed_by(&header, &adas_claims(login), &curve, Algorithm::ES256)
    };
    assert_refused(&providers, elliptic, "ES256").await;
    for alg in [json!("rs256"), json!("RS256 "), json!(1), Value::Null] {
        let odd = |login: &StartedLogin<'_>| {
            token(&json!({ "alg": alg, "kid": "one" }), &adas_claims(login))
        };
        assert_refused(&providers, odd, &alg.to_string()).await;
    }
}

#[tokio::test]
async fn b16_a_token_cannot_bring_its_own_key() {
    let providers = FakeProviders::start().await;
    let elsewhere = super::providers::FakeProvider::start().await;
    elsewhere.set_reply("/keys", super::providers::key_set(&[jwk("one", KEY_TWO)]));
    let url = format!("{}/keys", elsewhere.url());
    for (name, value) in [
        ("jwk", jwk("one", KEY_TWO)),
        ("jku", json!(url)),
        ("x5u", json!(url)),
        ("crit", json!(["jku"])),
    ] {
        let mut header = right_header();
        header[name] = value;
        let own = |login: &StartedLogin<'_>| {
            token_signed_by(
                &header,
                &adas_claims(login),
                &signing_key(KEY_TWO),
                Algorithm::RS256,
            )
        };
        assert_refused(&providers, own, name).await;
    }
    assert!(elsewhere.calls().is_empty());
}
