//! Google's documents: fetched when they are needed, cached as long as `Cache-Control`
//! allows, and for a bounded time longer while no newer one can be fetched.

use contract::Provider::Google;
use jsonwebtoken::Algorithm;
use rocket::futures::future::join_all;
use serde_json::json;

use super::{
    DISCOVERY, FakeProviders, KEY_ONE, KEY_TWO, KEYS, LegacyResult, StartedLogin, adas_claims,
    discovery_document, jwk, key_set, server_error, signed, signing_key, token,
};
use crate::fake_provider::{Reply, TOKEN};
use crate::test_broker::{parameter, with};

/// An ID token that names the key `id`.
pub(super) fn token_by(id: &str) -> impl Fn(&StartedLogin<'_>) -> String {
    let key = signing_key(if id == "two" { KEY_TWO } else { KEY_ONE });
    let header = json!({ "alg": "RS256", "kid": id });
    signed(header, key, Algorithm::RS256)
}

async fn log_in_by(providers: &FakeProviders, id: &str) -> LegacyResult {
    providers.log_in_by(token_by(id)).await
}

fn fetches(providers: &FakeProviders) -> usize {
    providers.google.calls_to(KEYS).len()
}

/// The keys of these ids.
fn keys_of<'i>(ids: impl IntoIterator<Item = &'i str>) -> Reply {
    let key = |id| jwk(id, if id == "two" { KEY_TWO } else { KEY_ONE });
    key_set(&ids.into_iter().map(key).collect::<Vec<_>>())
}

/// Plays steps: `one ok` is a login by the key `one` that succeeds, `two invalid` one that
/// ends with `invalid_provider_response`, `two unavailable` one with `provider_unavailable`;
/// `keys …` and `discovery …` set Google's reply, `wait …` moves the clock by milliseconds,
/// and `fetches …` is the number of calls for keys so far.
async fn play(script: &str) {
    let providers = FakeProviders::start_with_fixed_clock().await;
    for step in script.split("; ") {
        let (what, rest) = step.trim().split_once(' ').unwrap();
        match (what, rest) {
            ("keys", "down") => providers.google.set_reply(KEYS, server_error()),
            ("keys", "closed") => providers.google.set_reply(KEYS, Reply::Close),
            ("keys", ids) => providers.google.set_reply(KEYS, keys_of(ids.split(' '))),
            ("cache-control", value) => {
                let reply = keys_of(["one"]).with("Cache-Control", value);
                providers.google.set_reply(KEYS, reply);
            }
            ("discovery", "down") => providers.google.set_reply(DISCOVERY, server_error()),
            ("discovery", _) => {
                let document = Reply::json(&discovery_document(&providers.google.url()));
                let document = document.with("Cache-Control", "max-age=86400");
                providers.google.set_reply(DISCOVERY, document);
            }
            ("wait", ms) => providers.broker.advance_ms(ms.parse().unwrap()),
            ("fetches", n) => assert_eq!(fetches(&providers).to_string(), n, "{script}"),
            (id, expected) => {
                let result = log_in_by(&providers, id).await;
                let result = result.map_or_else(|error| error, |_| "ok".to_owned());
                assert!(result.contains(expected), "{step} in {script}: {result}");
            }
        }
    }
}

#[tokio::test]
async fn b17_an_unknown_key_is_searched_for_at_once_and_within_bounds() {
    // A rotation during a login.
    play("one ok; keys one two; two ok; one ok; fetches 2").await;
    // A new key is found right after an unknown one, for which one search a minute is made.
    play(
        "one ok; unknown invalid; keys one two; unknown invalid; fetches 2; two ok; fetches 3; \
         unknown invalid; fetches 3; wait 60000; unknown invalid; fetches 4",
    )
    .await;
    // A search that failed may be repeated after a second: it is the provider's failure, and
    // known keys still work. After one that found its key, the next unknown key is searched for
    // at once.
    play(
        "one ok; keys down; two unavailable; one ok; keys one two; wait 999; two unavailable; \
         fetches 2; wait 1; two ok; fetches 3; three invalid; fetches 4",
    )
    .await;
    // Thirty searches a minute, for any number of keys.
    let unknown = |n| match n < 30 {
        true => format!("unknown{n} invalid"),
        false => format!("unknown{n} unavailable"),
    };
    let hundred = (0..100).map(unknown).collect::<Vec<_>>().join("; ");
    play(&format!(
        "one ok; {hundred}; fetches 31; one ok; wait 60000; unknown invalid; fetches 32"
    ))
    .await;
}

#[tokio::test]
async fn b17_a_hundred_unknown_keys_share_one_search_that_fails() {
    let providers = FakeProviders::start_with_fixed_clock().await;
    assert!(log_in_by(&providers, "one").await.is_ok());
    let login = join_all((0..100).map(|_| providers.start_legacy_login(Google))).await;
    // All 100 get the token of the first. The nonce is checked after the key.
    let unknown = json!({ "alg": "RS256", "kid": "unknown" });
    login[0].google_returns_token(&token(&unknown, &adas_claims(&login[0])));
    let after_all = server_error().held_until(&[(TOKEN, 101)]);
    providers.google.set_reply(KEYS, after_all);
    let returned = login.iter().map(|it| it.return_with("code=a-code"));
    for response in join_all(returned).await {
        let error = parameter(response.location().unwrap(), "error");
        assert_eq!(error.as_deref(), Some("provider_unavailable"));
    }
    assert_eq!(fetches(&providers), 2, "the first, and one search");
}

/// The search for an unknown key, a newer discovery document, and newer keys.
// Threats: B17.
#[tokio::test]
async fn cached_documents_serve_all_others_while_one_sign_in_waits_for_newer_ones() {
    for (path, id, departs_at_ms, returns_after_ms) in [
        (KEYS, "two", 0, 0),
        (DISCOVERY, "one", 0, 61_000),
        (KEYS, "one", 3_580_000, 61_000),
    ] {
        let providers = FakeProviders::start_with_fixed_clock().await;
        assert!(log_in_by(&providers, "one").await.is_ok());
        providers.broker.advance_ms(departs_at_ms);
        let waiting = providers.start_login(Google, 2).await;
        waiting.google_returns_token(&token_by(id)(&waiting));
        providers.broker.advance_ms(returns_after_ms);
        let fetches = providers.google.calls_to(path).len();
        providers.google.set_reply(path, Reply::Silence);
        let others = async {
            providers.google.wait_for_calls(path, fetches + 1).await;
            for _ in 0..5 {
                let other = log_in_by(&providers, "one").await;
                assert!(other.is_ok(), "{path}, {id}");
            }
            assert_eq!(providers.google.hang_ups(), 0, "it is still being fetched");
        };
        tokio::select! {
            _ = waiting.return_with("code=a-code") => panic!("others wait: {path}, {id}"),
            () = others => {}
        }
    }
}

#[tokio::test]
async fn b18_keys_are_kept_by_max_age_with_a_floor_and_a_cap() {
    let (floor, cap) = (60_000, 24 * 3_600_000);
    for (control, ms) in [
        ("public, max-age=3600, must-revalidate", 3_600_000),
        ("max-age=0", floor),
        ("no-store", floor),
        ("max-age=-5", floor),
        ("max-age=x", floor),
        ("max-age=99999999999", cap),
        ("max-age=99999999999999999999999", floor),
    ] {
        // Each login is a new one, because it would not outlast its own 600 s.
        let before = ms - 1;
        play(&format!(
            "cache-control {control}; one ok; wait {before}; one ok; fetches 1; \
             wait 1; one ok; fetches 2"
        ))
        .await;
    }
}

#[tokio::test]
async fn b18_old_keys_serve_one_more_hour_at_most_while_no_newer_can_be_fetched() {
    // Discovery, which has no max-age, is cached for a minute and serves one more hour.
    play(
        "one ok; keys closed; wait 3660000; one ok; discovery down; wait 120000; one ok; \
         fetches 3",
    )
    .await;
    // Discovery must outlive the keys here.
    play("discovery kept; one ok; keys down; wait 7199999; one ok; wait 60001; one unavailable")
        .await;
    // A key that Google withdrew goes with the next fetch.
    play("one ok; keys two; wait 3610000; one invalid; two ok").await;
}

#[tokio::test]
async fn b18_keys_of_other_kinds_are_ignored() {
    let providers = FakeProviders::start().await;
    let other = |member: &str, value: &str| with(jwk("one", KEY_TWO), member, value);
    let keys = [
        json!(1),
        json!(null),
        json!({}),
        json!({ "kty": "AKP", "alg": "ML-DSA-44", "kid": "one" }),
        json!({ "kty": "oct", "k": "AAAA", "kid": "one", "alg": "HS256" }),
        other("use", "enc"),
        other("alg", "RS512"),
        jwk("one", KEY_ONE),
        jwk("one", KEY_TWO),
    ];
    providers.google.set_reply(KEYS, key_set(&keys));
    assert!(log_in_by(&providers, "one").await.is_ok());
}
