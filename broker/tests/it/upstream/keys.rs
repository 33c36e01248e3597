//! Google's documents: fetched when they are needed, kept as long as they may be,
//! and for a bounded time longer while no newer one can be had.

use contract::Provider::Google;
use serde_json::json;

use super::script::Reply;
use super::stage::{
    Away, DISCOVERY, KEY_ONE, KEY_TWO, KEYS, Stage, ada_of, discovery_of, is, jwk, keys, signing,
    token, token_by,
};
use crate::http::world::CALLBACK;

fn trouble() -> Reply {
    Reply::of(503, "text/html", "<h1>Service unavailable</h1>")
}

/// The keys with this `Cache-Control`.
fn keys_for(control: &str) -> Reply {
    Reply::json(&json!({ "keys": [jwk("one", KEY_ONE)] })).with("Cache-Control", control)
}

async fn sign_in_by(stage: &Stage, key: u8, id: &str, pem: &str) -> Result<(), String> {
    let away = stage.depart(Google, key).await;
    let header = json!({ "alg": "RS256", "kid": id });
    let algorithm = jsonwebtoken::Algorithm::RS256;
    away.brings_token(&token_by(&header, &ada_of(&away), &signing(pem), algorithm));
    away.back("code=a-code").await.goes_to(CALLBACK);
    stage.outcome(key).await.map(drop)
}

fn fetches(stage: &Stage) -> usize {
    stage.google.calls_to(KEYS).len()
}

#[tokio::test]
async fn b17_a_rotation_during_a_login_is_followed_at_once() {
    let stage = Stage::start().await;
    assert_eq!(sign_in_by(&stage, 1, "one", KEY_ONE).await, Ok(()));
    stage
        .google
        .replies(KEYS, keys(&[jwk("one", KEY_ONE), jwk("two", KEY_TWO)]));
    assert_eq!(sign_in_by(&stage, 2, "two", KEY_TWO).await, Ok(()));
    assert_eq!(sign_in_by(&stage, 3, "one", KEY_ONE).await, Ok(()));
    assert_eq!(fetches(&stage), 2);
}

#[tokio::test]
async fn b17_a_hundred_unknown_keys_cause_one_fetch_a_window() {
    let stage = Stage::start().await;
    assert_eq!(sign_in_by(&stage, 1, "one", KEY_ONE).await, Ok(()));
    for n in 0..100 {
        let away = stage.depart_legacy(Google).await;
        let header = json!({ "alg": "RS256", "kid": format!("unknown{n}") });
        away.brings_token(&token(&header, &ada_of(&away)));
        let home = away.back("code=a-code").await;
        assert!(
            home.location()
                .unwrap()
                .contains("invalid_provider_response")
        );
    }
    assert_eq!(fetches(&stage), 2, "the first, and one search");
    stage.world.pass_ms(70_000);
    assert!(sign_in_by(&stage, 2, "unknown", KEY_ONE).await.is_err());
    assert_eq!(fetches(&stage), 3);
    assert_eq!(sign_in_by(&stage, 3, "one", KEY_ONE).await, Ok(()));
}

#[tokio::test]
async fn b17_a_search_that_fails_blames_the_provider_and_costs_the_known_keys_nothing() {
    let stage = Stage::start().await;
    assert_eq!(sign_in_by(&stage, 1, "one", KEY_ONE).await, Ok(()));
    stage.google.replies(KEYS, trouble());
    let outcome = sign_in_by(&stage, 2, "two", KEY_TWO).await;
    assert_eq!(outcome, Err("provider_unavailable".to_owned()));
    assert_eq!(sign_in_by(&stage, 3, "one", KEY_ONE).await, Ok(()));
    assert_eq!(fetches(&stage), 2);
}

/// Checks that keys with this `Cache-Control` are kept for so long and no longer.
async fn kept(control: &str, ms: u64) {
    let stage = Stage::start().await;
    stage.google.replies(KEYS, keys_for(control));
    assert_eq!(sign_in_by(&stage, 1, "one", KEY_ONE).await, Ok(()));
    // A login must not outlast its own 600 s, so each is a new one.
    stage.world.pass_ms(ms - 20_000);
    assert_eq!(sign_in_by(&stage, 2, "one", KEY_ONE).await, Ok(()));
    assert_eq!(fetches(&stage), 1, "{control}: too early");
    stage.world.pass_ms(40_000);
    assert_eq!(sign_in_by(&stage, 3, "one", KEY_ONE).await, Ok(()));
    assert_eq!(fetches(&stage), 2, "{control}: too late");
}

#[tokio::test]
async fn b18_keys_are_kept_by_max_age_with_a_floor_and_a_cap() {
    let (floor, cap) = (60_000, 24 * 3_600_000);
    kept("public, max-age=3600, must-revalidate", 3_600_000).await;
    kept("max-age=0", floor).await;
    kept("no-store", floor).await;
    kept("max-age=-5", floor).await;
    kept("max-age=x", floor).await;
    kept("max-age=99999999999", cap).await;
    kept("max-age=99999999999999999999999", floor).await;
}

#[tokio::test]
async fn b18_cold_without_keys_the_provider_is_unavailable() {
    let stage = Stage::start().await;
    stage.google.replies(KEYS, trouble());
    let outcome = sign_in_by(&stage, 1, "one", KEY_ONE).await;
    assert_eq!(outcome, Err("provider_unavailable".to_owned()));
}

#[tokio::test]
async fn b18_old_keys_serve_one_more_hour_while_no_newer_can_be_had() {
    let stage = Stage::start().await;
    assert_eq!(sign_in_by(&stage, 1, "one", KEY_ONE).await, Ok(()));
    stage.google.replies(KEYS, Reply::Close);
    stage.world.pass_ms(3_600_000 + 60_000);
    assert_eq!(sign_in_by(&stage, 2, "one", KEY_ONE).await, Ok(()));
    assert!(stage.is_available(Google).await);
    // Discovery, which came without a max-age, is kept for a minute and an hour.
    stage.google.replies(DISCOVERY, trouble());
    stage.world.pass_ms(120_000);
    assert_eq!(sign_in_by(&stage, 3, "one", KEY_ONE).await, Ok(()));
}

#[tokio::test]
async fn b18_no_key_serves_for_ever() {
    let stage = Stage::start().await;
    // So that discovery outlives the keys.
    let discovery = Reply::json(&discovery_of(&stage.google.url()));
    let discovery = discovery.with("Cache-Control", "max-age=86400");
    stage.google.replies(DISCOVERY, discovery);
    assert_eq!(sign_in_by(&stage, 1, "one", KEY_ONE).await, Ok(()));
    stage.google.replies(KEYS, trouble());
    stage.world.pass_ms(2 * 3_600_000 - 30_000);
    assert_eq!(sign_in_by(&stage, 2, "one", KEY_ONE).await, Ok(()));
    stage.world.pass_ms(60_000);
    let outcome = sign_in_by(&stage, 3, "one", KEY_ONE).await;
    assert_eq!(outcome, Err("provider_unavailable".to_owned()));
}

#[tokio::test]
async fn b18_a_key_that_google_withdrew_goes_with_the_next_fetch() {
    let stage = Stage::start().await;
    assert_eq!(sign_in_by(&stage, 1, "one", KEY_ONE).await, Ok(()));
    stage.google.replies(KEYS, keys(&[jwk("two", KEY_TWO)]));
    stage.world.pass_ms(3_600_000 + 10_000);
    let outcome = sign_in_by(&stage, 2, "one", KEY_ONE).await;
    assert_eq!(outcome, Err("invalid_provider_response".to_owned()));
    assert_eq!(sign_in_by(&stage, 3, "two", KEY_TWO).await, Ok(()));
}

#[tokio::test]
async fn b18_keys_of_other_kinds_neither_count_nor_disturb() {
    let stage = Stage::start().await;
    let mut encrypting = jwk("one", KEY_TWO);
    encrypting["use"] = "enc".into();
    let mut another = jwk("one", KEY_TWO);
    another["alg"] = "RS512".into();
    let odd = json!([1, null, {}, { "kty": "AKP", "alg": "ML-DSA-44", "kid": "one" },
        { "kty": "oct", "k": "AAAA", "kid": "one", "alg": "HS256" }]);
    let mut all = odd.as_array().unwrap().clone();
    all.extend([
        encrypting,
        another,
        jwk("one", KEY_ONE),
        jwk("one", KEY_TWO),
    ]);
    stage.google.replies(KEYS, keys(&all));
    assert_eq!(sign_in_by(&stage, 1, "one", KEY_ONE).await, Ok(()));
}

#[tokio::test]
async fn b21_a_discovery_counts_only_with_the_issuers_own_name() {
    for issuer in [
        json!("https://accounts.google.com"),
        json!(""),
        json!(null),
        json!(1),
        json!(["x"]),
    ] {
        let stage = Stage::start().await;
        check_issuer(&stage, &issuer).await;
    }
    let stage = Stage::start().await;
    let own = stage.google.url();
    for issuer in [
        format!("{own}/"),
        own.replace("http:", "HTTP:"),
        format!(" {own}"),
    ] {
        let stage = Stage::start().await;
        check_issuer(&stage, &json!(issuer.replace(&own, &stage.google.url()))).await;
    }
}

async fn check_issuer(stage: &Stage, issuer: &serde_json::Value) {
    let mut document = discovery_of(&stage.google.url());
    document["issuer"] = issuer.clone();
    stage.google.replies(DISCOVERY, Reply::json(&document));
    let away: Away<'_> = stage.depart(Google, 1).await;
    away.departure.goes_to(CALLBACK);
    assert_eq!(stage.outcome(1).await, is("provider_unavailable"));
}

/// An old document is no help against a new one that is wrong.
#[tokio::test]
async fn b21_a_discovery_that_names_another_issuer_later_ends_the_logins_too() {
    let stage = Stage::start().await;
    assert_eq!(sign_in_by(&stage, 1, "one", KEY_ONE).await, Ok(()));
    stage.world.pass_ms(70_000);
    let mut document = discovery_of(&stage.google.url());
    document["issuer"] = "https://evil.test".into();
    stage.google.replies(DISCOVERY, Reply::json(&document));
    stage.depart(Google, 2).await.departure.goes_to(CALLBACK);
    assert_eq!(stage.outcome(2).await, is("provider_unavailable"));
}
