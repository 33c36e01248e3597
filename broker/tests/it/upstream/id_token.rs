//! Forged, bent and borrowed ID tokens: each ends as an answer that proves nothing.

use contract::Digest;
use contract::Provider::Google;
use jsonwebtoken::{Algorithm, EncodingKey};
use serde_json::{Value, json};

use super::stage::{
    ACCESS_TOKEN, Away, KEY_ONE, KEY_TWO, Stage, ada_of, is, jwk, signing, token, token_by,
};
use crate::test_broker::CALLBACK;

fn right_header() -> Value {
    json!({ "alg": "RS256", "kid": "one", "typ": "JWT" })
}

/// A clean login in which Google brings the token that `make` makes.
async fn bring(
    stage: &Stage,
    key: u8,
    make: impl Fn(&Away<'_>) -> String,
) -> Result<Value, String> {
    let away = stage.depart(Google, key).await;
    away.brings_token(&make(&away));
    away.back("code=a-code").await.redirects_to(CALLBACK);
    stage.outcome(key).await
}

async fn refused(stage: &Stage, make: impl Fn(&Away<'_>) -> String, what: &str) {
    // Keys are taken for 600 s; a legacy login needs none.
    let away = stage.depart_legacy(Google).await;
    away.brings_token(&make(&away));
    let home = away.back("code=a-code").await;
    let home = home.location().unwrap();
    assert!(
        home.contains("error=invalid_provider_response"),
        "{what}: {home}"
    );
}

/// Ada's claims with one changed; absent where the value is null.
fn claims_with(away: &Away<'_>, name: &str, value: &Value) -> Value {
    let mut claims = ada_of(away);
    match value {
        Value::Null => drop(claims.as_object_mut().unwrap().remove(name)),
        value => claims[name] = value.clone(),
    }
    claims
}

#[tokio::test]
async fn an_honest_token_counts_with_and_without_what_is_optional() {
    let stage = Stage::start().await;
    let hash = Digest::of(ACCESS_TOKEN.as_bytes());
    let hash = Digest::from_bytes(*hash.as_bytes()).to_text();
    // Half of 32 bytes is 21 characters and a bit.
    let half = &hash[..21];
    let at_hash = ('A'..='Z')
        .chain('a'..='z')
        .map(|last| format!("{half}{last}"));
    let mut accepted = 0;
    for at_hash in at_hash.filter(|it| it.ends_with(['A', 'Q', 'g', 'w'])) {
        let away = stage.depart_legacy(Google).await;
        away.brings(claims_with(&away, "at_hash", &json!(at_hash)));
        let home = away.back("code=a-code").await;
        accepted += usize::from(home.location().unwrap().contains("code="));
    }
    assert_eq!(accepted, 1, "one of the four last characters is right");
    for (key, name) in [
        (1, "azp"),
        (2, "at_hash"),
        (3, "name"),
        (4, "picture"),
        (5, "email"),
    ] {
        let outcome = bring(&stage, key, |away| {
            token(&right_header(), &claims_with(away, name, &Value::Null))
        });
        assert!(outcome.await.is_ok(), "without {name}");
    }
}

#[tokio::test]
async fn b04_a_nonce_is_this_logins_or_the_token_is_nothing() {
    let stage = Stage::start().await;
    let other = stage.depart_legacy(Google).await.parameter("nonce");
    for nonce in [json!(other), json!(""), json!(1), Value::Null] {
        let make = |away: &Away<'_>| token(&right_header(), &claims_with(away, "nonce", &nonce));
        refused(&stage, make, &nonce.to_string()).await;
    }
}

#[tokio::test]
async fn b15_every_claim_is_required_and_of_its_type() {
    let stage = Stage::start().await;
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
            let make = |away: &Away<'_>| token(&right_header(), &claims_with(away, name, value));
            refused(&stage, make, &format!("{name} {value}")).await;
        }
    }
    for (name, value) in [
        ("iss", json!("accounts.google.com")),
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
        let make = |away: &Away<'_>| token(&right_header(), &claims_with(away, name, &value));
        refused(&stage, make, &format!("{name} {value}")).await;
    }
}

#[tokio::test]
async fn b15_a_subject_is_a_short_ascii_text() {
    let stage = Stage::start().await;
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
        let make = |away: &Away<'_>| token(&right_header(), &claims_with(away, "sub", &sub));
        refused(&stage, make, &sub.to_string()).await;
    }
    let longest = "1".repeat(255);
    let outcome = bring(&stage, 1, |away| {
        token(&right_header(), &claims_with(away, "sub", &json!(longest)))
    });
    assert_eq!(outcome.await.unwrap()["providerSubject"], longest);
}

#[tokio::test]
async fn b15_a_signature_is_by_the_key_that_the_header_names() {
    let stage = Stage::start().await;
    let by_two = |away: &Away<'_>| {
        token_by(
            &right_header(),
            &ada_of(away),
            &signing(KEY_TWO),
            Algorithm::RS256,
        )
    };
    refused(&stage, by_two, "another key").await;
    let bare = |away: &Away<'_>| {
        let token = token(&right_header(), &ada_of(away));
        format!("{}.", token.rsplit_once('.').unwrap().0)
    };
    refused(&stage, bare, "no signature").await;
    let padded = |away: &Away<'_>| format!("{}=", token(&right_header(), &ada_of(away)));
    refused(&stage, padded, "padding").await;
    let four = |away: &Away<'_>| format!("{}.a", token(&right_header(), &ada_of(away)));
    refused(&stage, four, "four parts").await;
    for text in ["", ".", "..", "...", "a", "e30.e30.", "\u{0}", "ä.ö.ü"] {
        refused(&stage, |_| text.to_owned(), text).await;
    }
}

#[tokio::test]
async fn b16_no_algorithm_but_rs256_counts_whatever_the_signature() {
    let stage = Stage::start().await;
    let none = |away: &Away<'_>| {
        let header = json!({ "alg": "none", "kid": "one" });
        let token = token(&header, &ada_of(away));
        format!("{}.", token.rsplit_once('.').unwrap().0)
    };
    refused(&stage, none, "none").await;
    // What everybody can fetch, taken for a shared secret.
    let public = jwk("one", KEY_ONE);
    for secret in [public.to_string(), public["n"].as_str().unwrap().to_owned()] {
        let key = EncodingKey::from_secret(secret.as_bytes());
        let by_public_key = |away: &Away<'_>| {
            let header = json!({ "alg": "HS256", "kid": "one" });
            token_by(&header, &ada_of(away), &key, Algorithm::HS256)
        };
        refused(&stage, by_public_key, "HS256").await;
    }
    for (name, algorithm) in [
        ("RS384", Algorithm::RS384),
        ("RS512", Algorithm::RS512),
        ("PS256", Algorithm::PS256),
    ] {
        let other = |away: &Away<'_>| {
            let header = json!({ "alg": name, "kid": "one" });
            token_by(&header, &ada_of(away), &signing(KEY_ONE), algorithm)
        };
        refused(&stage, other, name).await;
    }
    let curve = EncodingKey::from_ec_pem(include_bytes!("keys/tls-key.pem")).unwrap();
    let elliptic = |away: &Away<'_>| {
        let header = json!({ "alg": "ES256", "kid": "one" });
        token_by(&header, &ada_of(away), &curve, Algorithm::ES256)
    };
    refused(&stage, elliptic, "ES256").await;
    for alg in [json!("rs256"), json!("RS256 "), json!(1), Value::Null] {
        let odd = |away: &Away<'_>| token(&json!({ "alg": alg, "kid": "one" }), &ada_of(away));
        refused(&stage, odd, &alg.to_string()).await;
    }
}

#[tokio::test]
async fn b16_a_token_cannot_bring_its_own_key() {
    let stage = Stage::start().await;
    let elsewhere = super::script::Script::start().await;
    elsewhere.replies("/keys", super::stage::keys(&[jwk("one", KEY_TWO)]));
    let url = format!("{}/keys", elsewhere.url());
    for (name, value) in [
        ("jwk", jwk("one", KEY_TWO)),
        ("jku", json!(url)),
        ("x5u", json!(url)),
        ("crit", json!(["jku"])),
    ] {
        let mut header = right_header();
        header[name] = value;
        let own =
            |away: &Away<'_>| token_by(&header, &ada_of(away), &signing(KEY_TWO), Algorithm::RS256);
        refused(&stage, own, name).await;
    }
    assert!(elsewhere.calls().is_empty());
}

#[tokio::test]
async fn b17_a_token_that_names_no_key_is_refused_even_if_there_is_but_one() {
    let stage = Stage::start().await;
    let outcome = bring(&stage, 1, |away| {
        token(&json!({ "alg": "RS256" }), &ada_of(away))
    });
    assert_eq!(outcome.await, is("invalid_provider_response"));
}
