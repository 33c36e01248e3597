//! Google's documents: fetched when they are needed, kept as long as they may be,
//! and for a bounded time longer while no newer one can be had.

use contract::Provider::Google;
use serde_json::json;

use super::script::Reply;
use super::stage::{
    Away, DISCOVERY, KEY_ONE, KEY_TWO, KEYS, Stage, TOKEN, ada_of, discovery_of, is, jwk, keys,
    signing, token, token_by,
};
use crate::test_broker::{CALLBACK, all};

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
    away.back("code=a-code").await.redirects_to(CALLBACK);
    stage.outcome(key).await.map(drop)
}

fn fetches(stage: &Stage) -> usize {
    stage.google.calls_to(KEYS).len()
}

#[tokio::test]
async fn b17_a_rotation_during_a_login_is_followed_at_once() {
    let stage = Stage::start().await;
    assert_eq!(sign_in_by(&stage, 1, "one", KEY_ONE).await, Ok(()));
    stage.google.replies(KEYS, rotated());
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
    stage.world.advance_ms(70_000);
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

/// The keys after a rotation.
fn rotated() -> Reply {
    keys(&[jwk("one", KEY_ONE), jwk("two", KEY_TWO)])
}

#[tokio::test]
async fn b17_a_search_that_fails_is_repeated_after_a_second_and_takes_nobodys_turn() {
    let stage = Stage::start_in_standing_time().await;
    assert_eq!(sign_in_by(&stage, 1, "one", KEY_ONE).await, Ok(()));
    let unavailable = Err("provider_unavailable".to_owned());
    stage.google.replies(KEYS, trouble());
    assert_eq!(sign_in_by(&stage, 2, "two", KEY_TWO).await, unavailable);
    stage.google.replies(KEYS, rotated());
    stage.world.advance_ms(999);
    assert_eq!(sign_in_by(&stage, 3, "two", KEY_TWO).await, unavailable);
    assert_eq!(fetches(&stage), 2, "not before its time");
    stage.world.advance_ms(1);
    assert_eq!(sign_in_by(&stage, 4, "two", KEY_TWO).await, Ok(()));
    assert_eq!(fetches(&stage), 3);
    // A key set was read and every key found: the next unknown one is looked for.
    assert!(sign_in_by(&stage, 5, "three", KEY_TWO).await.is_err());
    assert_eq!(fetches(&stage), 4);
}

#[tokio::test]
async fn b17_a_hundred_unknown_keys_share_one_search_that_fails() {
    let stage = Stage::start_in_standing_time().await;
    assert_eq!(sign_in_by(&stage, 1, "one", KEY_ONE).await, Ok(()));
    let mut away = Vec::new();
    for _ in 0..100 {
        away.push(stage.depart_legacy(Google).await);
    }
    // Its nonce is wrong for 99 of them, which is checked after its key.
    let unknown = json!({ "alg": "RS256", "kid": "unknown" });
    away[0].brings_token(&token(&unknown, &ada_of(&away[0])));
    let after_all = trouble().held_until(&[(TOKEN, 101)]);
    stage.google.replies(KEYS, after_all);
    let mut away = away.iter();
    let homes = all(100, || away.next().unwrap().back("code=a-code")).await;
    for home in homes {
        let home = home.location().unwrap();
        assert!(home.contains("error=provider_unavailable"), "{home}");
    }
    assert_eq!(fetches(&stage), 2, "the first, and one search");
}

/// The order of events says it: the one comes home while the other still waits.
#[tokio::test]
async fn a_cached_key_never_waits_for_a_search_that_hangs() {
    let stage = Stage::start().await;
    assert_eq!(sign_in_by(&stage, 1, "one", KEY_ONE).await, Ok(()));
    let searching = stage.depart(Google, 2).await;
    let header = json!({ "alg": "RS256", "kid": "two" });
    searching.brings_token(&token(&header, &ada_of(&searching)));
    stage.google.replies(KEYS, Reply::Silence);
    let others = async {
        stage.google.is_called_times(KEYS, 2).await;
        for key in 3..8 {
            assert_eq!(sign_in_by(&stage, key, "one", KEY_ONE).await, Ok(()));
        }
        assert_eq!(stage.google.hang_ups(), 0, "the broker is still searching");
    };
    tokio::select! {
        _ = searching.back("code=a-code") => panic!("the others waited for it"),
        () = others => {}
    }
}

/// A document past its time serves the sign-ins that would else wait for a fetch.
async fn an_old_document_serves_while_a_newer_is_fetched(path: &str, departs_at_ms: u64) {
    let stage = Stage::start().await;
    assert_eq!(sign_in_by(&stage, 1, "one", KEY_ONE).await, Ok(()));
    stage.world.advance_ms(departs_at_ms);
    let fetching = stage.depart(Google, 2).await;
    stage.world.advance_ms(61_000);
    let fetches = stage.google.calls_to(path).len();
    stage.google.replies(path, Reply::Silence);
    let others = async {
        stage.google.is_called_times(path, fetches + 1).await;
        for key in 3..8 {
            assert_eq!(sign_in_by(&stage, key, "one", KEY_ONE).await, Ok(()));
        }
        assert_eq!(stage.google.hang_ups(), 0, "it is still being fetched");
    };
    tokio::select! {
        _ = fetching.back("code=a-code") => panic!("the others waited for it"),
        () = others => {}
    }
}

#[tokio::test]
async fn an_old_discovery_serves_while_one_sign_in_fetches_a_newer_one() {
    an_old_document_serves_while_a_newer_is_fetched(DISCOVERY, 0).await;
}

#[tokio::test]
async fn old_keys_serve_while_one_sign_in_fetches_newer_ones() {
    an_old_document_serves_while_a_newer_is_fetched(KEYS, 3_580_000).await;
}

/// Checks that keys with this `Cache-Control` are kept for so long and no longer.
async fn kept(control: &str, ms: u64) {
    let stage = Stage::start().await;
    stage.google.replies(KEYS, keys_for(control));
    assert_eq!(sign_in_by(&stage, 1, "one", KEY_ONE).await, Ok(()));
    // A login must not outlast its own 600 s, so each is a new one.
    stage.world.advance_ms(ms - 20_000);
    assert_eq!(sign_in_by(&stage, 2, "one", KEY_ONE).await, Ok(()));
    assert_eq!(fetches(&stage), 1, "{control}: too early");
    stage.world.advance_ms(40_000);
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
    stage.world.advance_ms(3_600_000 + 60_000);
    assert_eq!(sign_in_by(&stage, 2, "one", KEY_ONE).await, Ok(()));
    assert!(stage.is_available(Google).await);
    // Discovery, which came without a max-age, is kept for a minute and an hour.
    stage.google.replies(DISCOVERY, trouble());
    stage.world.advance_ms(120_000);
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
    stage.world.advance_ms(2 * 3_600_000 - 30_000);
    assert_eq!(sign_in_by(&stage, 2, "one", KEY_ONE).await, Ok(()));
    stage.world.advance_ms(60_000);
    let outcome = sign_in_by(&stage, 3, "one", KEY_ONE).await;
    assert_eq!(outcome, Err("provider_unavailable".to_owned()));
}

#[tokio::test]
async fn b18_a_key_that_google_withdrew_goes_with_the_next_fetch() {
    let stage = Stage::start().await;
    assert_eq!(sign_in_by(&stage, 1, "one", KEY_ONE).await, Ok(()));
    stage.google.replies(KEYS, keys(&[jwk("two", KEY_TWO)]));
    stage.world.advance_ms(3_600_000 + 10_000);
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
    away.departure.redirects_to(CALLBACK);
    assert_eq!(stage.outcome(1).await, is("provider_unavailable"));
}

/// An old document is no help against a new one that is wrong.
#[tokio::test]
async fn b21_a_discovery_that_names_another_issuer_later_ends_the_logins_too() {
    let stage = Stage::start().await;
    assert_eq!(sign_in_by(&stage, 1, "one", KEY_ONE).await, Ok(()));
    stage.world.advance_ms(70_000);
    let mut document = discovery_of(&stage.google.url());
    document["issuer"] = "https://evil.test".into();
    stage.google.replies(DISCOVERY, Reply::json(&document));
    stage
        .depart(Google, 2)
        .await
        .departure
        .redirects_to(CALLBACK);
    assert_eq!(stage.outcome(2).await, is("provider_unavailable"));
}
