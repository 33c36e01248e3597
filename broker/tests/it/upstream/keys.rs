//! Google's documents: fetched when they are needed, cached as long as `Cache-Control`
//! allows, and for a bounded time longer while no newer one can be fetched.

use contract::Provider::Google;
use serde_json::json;

use super::providers::{
    DISCOVERY, FakeProviders, KEY_ONE, KEY_TWO, KEYS, Reply, TOKEN, adas_claims,
    discovery_document, jwk, key_set, signing_key, token, token_signed_by,
};
use crate::test_broker::{CALLBACK, all};

fn server_error() -> Reply {
    Reply::of(503, "text/html", "<h1>Service unavailable</h1>")
}

/// The key set with this `Cache-Control`.
fn key_set_kept_by(control: &str) -> Reply {
    Reply::json(&json!({ "keys": [jwk("one", KEY_ONE)] })).with("Cache-Control", control)
}

/// Signs in with an ID token that is signed by `pem` and names the key `id`.
pub(super) async fn sign_in_by(
    providers: &FakeProviders,
    key: u8,
    id: &str,
    pem: &str,
) -> Result<(), String> {
    let login = providers.start_login(Google, key).await;
    let header = json!({ "alg": "RS256", "kid": id });
    let algorithm = jsonwebtoken::Algorithm::RS256;
    login.google_returns_token(&token_signed_by(
        &header,
        &adas_claims(&login),
        &signing_key(pem),
        algorithm,
    ));
    login
        .return_with("code=a-code")
        .await
        .redirects_to(CALLBACK);
    providers.result(key).await.map(drop)
}

fn fetches(providers: &FakeProviders) -> usize {
    providers.google.calls_to(KEYS).len()
}

#[tokio::test]
async fn b17_a_rotation_during_a_login_is_followed_at_once() {
    let providers = FakeProviders::start().await;
    assert_eq!(sign_in_by(&providers, 1, "one", KEY_ONE).await, Ok(()));
    providers.google.set_reply(KEYS, rotated());
    assert_eq!(sign_in_by(&providers, 2, "two", KEY_TWO).await, Ok(()));
    assert_eq!(sign_in_by(&providers, 3, "one", KEY_ONE).await, Ok(()));
    assert_eq!(fetches(&providers), 2);
}

#[tokio::test]
async fn b17_a_new_key_is_found_right_after_an_unknown_one() {
    let providers = FakeProviders::start_with_fixed_clock().await;
    assert_eq!(sign_in_by(&providers, 1, "one", KEY_ONE).await, Ok(()));
    let invalid = Err("invalid_provider_response".to_owned());
    assert_eq!(sign_in_by(&providers, 2, "unknown", KEY_ONE).await, invalid);
    providers.google.set_reply(KEYS, rotated());
    assert_eq!(sign_in_by(&providers, 3, "unknown", KEY_ONE).await, invalid);
    assert_eq!(fetches(&providers), 2, "once a minute for one key");
    assert_eq!(sign_in_by(&providers, 4, "two", KEY_TWO).await, Ok(()));
    assert_eq!(fetches(&providers), 3);
}

#[tokio::test]
async fn b17_a_hundred_unknown_keys_cause_thirty_fetches_a_minute() {
    let providers = FakeProviders::start_with_fixed_clock().await;
    assert_eq!(sign_in_by(&providers, 1, "one", KEY_ONE).await, Ok(()));
    for n in 0..100 {
        let login = providers.start_legacy_login(Google).await;
        let header = json!({ "alg": "RS256", "kid": format!("unknown{n}") });
        login.google_returns_token(&token(&header, &adas_claims(&login)));
        let response = login.return_with("code=a-code").await;
        let error = match n < 30 {
            true => "invalid_provider_response",
            false => "provider_unavailable",
        };
        assert!(response.location().unwrap().contains(error), "{n}");
    }
    assert_eq!(fetches(&providers), 31, "the first, and thirty searches");
    assert!(providers.is_available(Google).await);
    assert_eq!(sign_in_by(&providers, 2, "one", KEY_ONE).await, Ok(()));
    providers.broker.advance_ms(60_000);
    assert!(sign_in_by(&providers, 3, "unknown", KEY_ONE).await.is_err());
    assert_eq!(fetches(&providers), 32);
}

#[tokio::test]
async fn b17_a_failed_search_is_the_providers_failure_and_known_keys_still_work() {
    let providers = FakeProviders::start().await;
    assert_eq!(sign_in_by(&providers, 1, "one", KEY_ONE).await, Ok(()));
    providers.google.set_reply(KEYS, server_error());
    let outcome = sign_in_by(&providers, 2, "two", KEY_TWO).await;
    assert_eq!(outcome, Err("provider_unavailable".to_owned()));
    assert_eq!(sign_in_by(&providers, 3, "one", KEY_ONE).await, Ok(()));
    assert_eq!(fetches(&providers), 2);
}

/// The keys after a rotation.
fn rotated() -> Reply {
    key_set(&[jwk("one", KEY_ONE), jwk("two", KEY_TWO)])
}

#[tokio::test]
async fn b17_a_failed_search_may_be_repeated_after_a_second() {
    let providers = FakeProviders::start_with_fixed_clock().await;
    assert_eq!(sign_in_by(&providers, 1, "one", KEY_ONE).await, Ok(()));
    let unavailable = Err("provider_unavailable".to_owned());
    providers.google.set_reply(KEYS, server_error());
    assert_eq!(sign_in_by(&providers, 2, "two", KEY_TWO).await, unavailable);
    providers.google.set_reply(KEYS, rotated());
    providers.broker.advance_ms(999);
    assert_eq!(sign_in_by(&providers, 3, "two", KEY_TWO).await, unavailable);
    assert_eq!(fetches(&providers), 2, "not within a second");
    providers.broker.advance_ms(1);
    assert_eq!(sign_in_by(&providers, 4, "two", KEY_TWO).await, Ok(()));
    assert_eq!(fetches(&providers), 3);
    // After a search that found its key, the next unknown key is searched for at once.
    assert!(sign_in_by(&providers, 5, "three", KEY_TWO).await.is_err());
    assert_eq!(fetches(&providers), 4);
}

#[tokio::test]
async fn b17_a_hundred_unknown_keys_share_one_search_that_fails() {
    let providers = FakeProviders::start_with_fixed_clock().await;
    assert_eq!(sign_in_by(&providers, 1, "one", KEY_ONE).await, Ok(()));
    let mut login = Vec::new();
    for _ in 0..100 {
        login.push(providers.start_legacy_login(Google).await);
    }
    // All 100 get the token of the first. The nonce is checked after the key.
    let unknown = json!({ "alg": "RS256", "kid": "unknown" });
    login[0].google_returns_token(&token(&unknown, &adas_claims(&login[0])));
    let after_all = server_error().held_until(&[(TOKEN, 101)]);
    providers.google.set_reply(KEYS, after_all);
    let mut login = login.iter();
    let responses = all(100, || login.next().unwrap().return_with("code=a-code")).await;
    for response in responses {
        let response = response.location().unwrap();
        assert!(
            response.contains("error=provider_unavailable"),
            "{response}"
        );
    }
    assert_eq!(fetches(&providers), 2, "the first, and one search");
}

/// The other logins complete while one still waits.
// Threats: B17.
#[tokio::test]
async fn a_cached_key_never_waits_for_a_search_that_hangs() {
    let providers = FakeProviders::start().await;
    assert_eq!(sign_in_by(&providers, 1, "one", KEY_ONE).await, Ok(()));
    let searching = providers.start_login(Google, 2).await;
    let header = json!({ "alg": "RS256", "kid": "two" });
    searching.google_returns_token(&token(&header, &adas_claims(&searching)));
    providers.google.set_reply(KEYS, Reply::Silence);
    let others = async {
        providers.google.wait_for_calls(KEYS, 2).await;
        for key in 3..8 {
            assert_eq!(sign_in_by(&providers, key, "one", KEY_ONE).await, Ok(()));
        }
        assert_eq!(
            providers.google.hang_ups(),
            0,
            "the broker is still searching"
        );
    };
    tokio::select! {
        _ = searching.return_with("code=a-code") => panic!("the others waited for it"),
        () = others => {}
    }
}

/// Checks that a document past its time serves other sign-ins while one fetches it.
async fn check_an_old_document_serves_while_a_newer_is_fetched(path: &str, departs_at_ms: u64) {
    let providers = FakeProviders::start().await;
    assert_eq!(sign_in_by(&providers, 1, "one", KEY_ONE).await, Ok(()));
    providers.broker.advance_ms(departs_at_ms);
    let fetching = providers.start_login(Google, 2).await;
    providers.broker.advance_ms(61_000);
    let fetches = providers.google.calls_to(path).len();
    providers.google.set_reply(path, Reply::Silence);
    let others = async {
        providers.google.wait_for_calls(path, fetches + 1).await;
        for key in 3..8 {
            assert_eq!(sign_in_by(&providers, key, "one", KEY_ONE).await, Ok(()));
        }
        assert_eq!(providers.google.hang_ups(), 0, "it is still being fetched");
    };
    tokio::select! {
        _ = fetching.return_with("code=a-code") => panic!("the others waited for it"),
        () = others => {}
    }
}

#[tokio::test]
async fn an_old_discovery_serves_while_one_sign_in_fetches_a_newer_one() {
    check_an_old_document_serves_while_a_newer_is_fetched(DISCOVERY, 0).await;
}

#[tokio::test]
async fn old_keys_serve_while_one_sign_in_fetches_newer_ones() {
    check_an_old_document_serves_while_a_newer_is_fetched(KEYS, 3_580_000).await;
}

/// Checks that keys with this `Cache-Control` are cached for `ms` and no longer.
async fn check_kept_for(control: &str, ms: u64) {
    let providers = FakeProviders::start().await;
    providers.google.set_reply(KEYS, key_set_kept_by(control));
    assert_eq!(sign_in_by(&providers, 1, "one", KEY_ONE).await, Ok(()));
    // Each login is a new one, because it would not outlast its own 600 s.
    providers.broker.advance_ms(ms - 20_000);
    assert_eq!(sign_in_by(&providers, 2, "one", KEY_ONE).await, Ok(()));
    assert_eq!(fetches(&providers), 1, "{control}: too early");
    providers.broker.advance_ms(40_000);
    assert_eq!(sign_in_by(&providers, 3, "one", KEY_ONE).await, Ok(()));
    assert_eq!(fetches(&providers), 2, "{control}: too late");
}

#[tokio::test]
async fn b18_keys_are_kept_by_max_age_with_a_floor_and_a_cap() {
    let (floor, cap) = (60_000, 24 * 3_600_000);
    check_kept_for("public, max-age=3600, must-revalidate", 3_600_000).await;
    check_kept_for("max-age=0", floor).await;
    check_kept_for("no-store", floor).await;
    check_kept_for("max-age=-5", floor).await;
    check_kept_for("max-age=x", floor).await;
    check_kept_for("max-age=99999999999", cap).await;
    check_kept_for("max-age=99999999999999999999999", floor).await;
}

#[tokio::test]
async fn b18_old_keys_serve_one_more_hour_while_no_newer_can_be_fetched() {
    let providers = FakeProviders::start().await;
    assert_eq!(sign_in_by(&providers, 1, "one", KEY_ONE).await, Ok(()));
    providers.google.set_reply(KEYS, Reply::Close);
    providers.broker.advance_ms(3_600_000 + 60_000);
    assert_eq!(sign_in_by(&providers, 2, "one", KEY_ONE).await, Ok(()));
    assert!(providers.is_available(Google).await);
    // Discovery, which has no max-age, is cached for a minute and serves one more hour.
    providers.google.set_reply(DISCOVERY, server_error());
    providers.broker.advance_ms(120_000);
    assert_eq!(sign_in_by(&providers, 3, "one", KEY_ONE).await, Ok(()));
}

#[tokio::test]
async fn b18_old_keys_do_not_serve_for_ever() {
    let providers = FakeProviders::start().await;
    // Discovery must outlive the keys here.
    let discovery = Reply::json(&discovery_document(&providers.google.url()));
    let discovery = discovery.with("Cache-Control", "max-age=86400");
    providers.google.set_reply(DISCOVERY, discovery);
    assert_eq!(sign_in_by(&providers, 1, "one", KEY_ONE).await, Ok(()));
    providers.google.set_reply(KEYS, server_error());
    providers.broker.advance_ms(2 * 3_600_000 - 30_000);
    assert_eq!(sign_in_by(&providers, 2, "one", KEY_ONE).await, Ok(()));
    providers.broker.advance_ms(60_000);
    let outcome = sign_in_by(&providers, 3, "one", KEY_ONE).await;
    assert_eq!(outcome, Err("provider_unavailable".to_owned()));
}

#[tokio::test]
async fn b18_a_key_that_google_withdrew_goes_with_the_next_fetch() {
    let providers = FakeProviders::start().await;
    assert_eq!(sign_in_by(&providers, 1, "one", KEY_ONE).await, Ok(()));
    providers
        .google
        .set_reply(KEYS, key_set(&[jwk("two", KEY_TWO)]));
    providers.broker.advance_ms(3_600_000 + 10_000);
    let outcome = sign_in_by(&providers, 2, "one", KEY_ONE).await;
    assert_eq!(outcome, Err("invalid_provider_response".to_owned()));
    assert_eq!(sign_in_by(&providers, 3, "two", KEY_TWO).await, Ok(()));
}

#[tokio::test]
async fn b18_keys_of_other_kinds_are_ignored() {
    let providers = FakeProviders::start().await;
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
    providers.google.set_reply(KEYS, key_set(&all));
    assert_eq!(sign_in_by(&providers, 1, "one", KEY_ONE).await, Ok(()));
}
