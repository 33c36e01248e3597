//! Google's discovery document and key set.

use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header};
use mock_upstream::{Iss, Misbehaviour, Next, Provider, Settings};
use serde_json::Value;

use crate::google_id_token::verified;
use crate::world::{CLIENT_ID, Seen, World};

const GOOGLE: Provider = Provider::Google;

pub(crate) async fn key_set(world: &World) -> Seen {
    let url = format!("{}/oauth2/v3/certs", world.mock.google().url());
    world.get(&url).await
}

pub(crate) async fn kids(world: &World) -> Vec<Value> {
    let keys = key_set(world).await.json();
    let keys = keys["keys"].as_array().unwrap().iter();
    keys.map(|key| key["kid"].clone()).collect()
}

// developers.google.com/identity/openid-connect/reference.
#[tokio::test]
async fn discovery_leads_to_every_endpoint() {
    let world = World::new().await;
    let url = world.mock.google().url();
    let document = world
        .get(&format!("{url}/.well-known/openid-configuration"))
        .await;
    let document = document.json();
    assert_eq!(document["issuer"], url);
    assert_eq!(
        document["authorization_endpoint"],
        format!("{url}/o/oauth2/v2/auth")
    );
    assert_eq!(document["token_endpoint"], format!("{url}/token"));
    assert_eq!(document["userinfo_endpoint"], format!("{url}/v1/userinfo"));
    assert_eq!(document["revocation_endpoint"], format!("{url}/revoke"));
    assert_eq!(document["jwks_uri"], format!("{url}/oauth2/v3/certs"));
    let device = format!("{url}/device/code");
    assert_eq!(document["device_authorization_endpoint"], device);
}

// panva/wellknown, 2024.
#[tokio::test]
async fn discovery_has_googles_lists() {
    let world = World::new().await;
    let document = discovery(&world).await;
    let list = |name: &str| {
        let list = document[name].as_array().unwrap().iter();
        list.map(|item| item.as_str().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(
        list("response_types_supported").join("|"),
        "code|token|id_token|code token|code id_token|token id_token|code token id_token|none"
    );
    assert_eq!(list("subject_types_supported"), ["public"]);
    assert_eq!(list("id_token_signing_alg_values_supported"), ["RS256"]);
    assert_eq!(list("scopes_supported"), ["openid", "email", "profile"]);
    assert_eq!(
        list("token_endpoint_auth_methods_supported"),
        ["client_secret_post", "client_secret_basic"]
    );
    assert_eq!(
        list("claims_supported").join(" "),
        "aud email email_verified exp family_name given_name iat iss name picture sub"
    );
    assert_eq!(list("code_challenge_methods_supported"), ["plain", "S256"]);
    assert_eq!(
        list("grant_types_supported").join(" "),
        "authorization_code refresh_token urn:ietf:params:oauth:grant-type:device_code \
         urn:ietf:params:oauth:grant-type:jwt-bearer"
    );
}

async fn discovery(world: &World) -> Value {
    let url = world.mock.google().url();
    let path = "/.well-known/openid-configuration";
    world.get(&format!("{url}{path}")).await.json()
}

const ISS_ANNOUNCED: &str = "authorization_response_iss_parameter_supported";

// Google's reference lists the member since 2026; its value is not confirmed.
#[tokio::test]
async fn discovery_announces_iss_as_was_chosen() {
    for chosen in [false, true] {
        let world = World::with(|settings| {
            settings.google.iss = Iss::Errors;
            settings.google.unconfirmed.google_announces_iss = chosen;
        });
        let announced = discovery(&world.await).await.get(ISS_ANNOUNCED).cloned();
        assert_eq!(announced, chosen.then_some(Value::Bool(true)));
    }
}

// RFC 9207, section 2.3: it would be a promise for every answer, errors included.
#[tokio::test]
async fn discovery_announces_no_iss_that_may_be_missing() {
    let world = World::with(|settings| settings.google.unconfirmed.google_announces_iss = true);
    let world = world.await;
    for iss in [Iss::Off, Iss::On] {
        world.mock.google().set_iss(iss);
        assert_eq!(discovery(&world).await.get(ISS_ANNOUNCED), None, "{iss:?}");
    }
}

// panva/wellknown: Google's key set, committed on every change.
#[tokio::test]
async fn a_key_looks_like_googles() {
    let world = World::new().await;
    let keys = key_set(&world).await.json();
    assert_eq!(keys["keys"].as_array().unwrap().len(), 2);
    for key in keys["keys"].as_array().unwrap() {
        let kid = key["kid"].as_str().unwrap();
        assert!(kid.len() == 40 && kid.bytes().all(|byte| byte.is_ascii_hexdigit()));
        assert_eq!(key["kty"], "RSA");
        assert_eq!(key["alg"], "RS256");
        assert_eq!(key["use"], "sig");
        assert_eq!(key["e"], "AQAB");
        assert_eq!(key["n"].as_str().unwrap().len(), 342);
        assert_eq!(key.as_object().unwrap().len(), 6);
    }
}

// Seen on a sibling endpoint; the exact max-age varies.
#[tokio::test]
async fn the_key_set_says_how_long_it_may_be_kept() {
    let world = World::new().await;
    let seen = key_set(&world).await;
    let caching = "public, max-age=24442, must-revalidate, no-transform";
    assert_eq!(seen.header("cache-control"), caching);
}

#[tokio::test]
async fn how_long_the_key_set_may_be_kept_can_be_chosen() {
    let choose = |settings: &mut Settings| {
        settings.google.unconfirmed.google_keys_max_age_seconds = 60;
    };
    let seen = key_set(&World::with(choose).await).await;
    assert!(seen.header("cache-control").contains("max-age=60,"));
}

// panva/wellknown: three keys for a day, then the oldest goes.
#[tokio::test]
async fn a_third_key_joins_and_then_the_oldest_goes() {
    let world = World::new().await;
    let two = kids(&world).await;
    world.mock.rotate_google_keys();
    let three = kids(&world).await;
    assert_eq!(three.len(), 3);
    assert_eq!(three[..2], two);
    world.mock.rotate_google_keys();
    assert_eq!(kids(&world).await, three[1..]);
}

#[tokio::test]
async fn the_new_key_signs_and_an_older_token_still_verifies() {
    let world = World::new().await;
    let older = world.sign_in(GOOGLE).await.text("id_token");
    let before = kids(&world).await;
    world.mock.rotate_google_keys();
    let newer = world.sign_in(GOOGLE).await.text("id_token");
    let kid = decode_header(&newer).unwrap().kid.unwrap();
    assert!(!before.contains(&Value::from(kid)));
    verified(&world, &older).await.unwrap();
    verified(&world, &newer).await.unwrap();
}

#[tokio::test]
async fn a_reset_brings_the_first_keys_back() {
    let world = World::new().await;
    let first = kids(&world).await;
    world.mock.rotate_google_keys();
    world.mock.google().reset();
    assert_eq!(kids(&world).await, first);
}

/// The same keys as X.509 certificates in PEM, by `kid`.
async fn certificates(world: &World) -> Seen {
    let url = format!("{}/oauth2/v1/certs", world.mock.google().url());
    world.get(&url).await
}

// google-auth verifies ID tokens with them unless it is given another address.
#[tokio::test]
async fn a_certificate_verifies_what_its_key_signed() {
    let world = World::new().await;
    for _ in 0..4 {
        let token = world.sign_in(GOOGLE).await.text("id_token");
        let kid = decode_header(&token).unwrap().kid.unwrap();
        let certificates = certificates(&world).await.json();
        let pem = certificates[&kid].as_str().unwrap();
        assert!(pem.starts_with("-----BEGIN CERTIFICATE-----\n"), "{pem}");
        assert!(pem.ends_with("\n-----END CERTIFICATE-----\n"), "{pem}");
        let key = DecodingKey::from_rsa_pem(pem.as_bytes()).unwrap();
        let mut validation = Validation::new(Algorithm::RS256);
        validation.set_audience(&[CLIENT_ID]);
        // The world has a clock of its own.
        validation.validate_exp = false;
        decode::<Value>(&token, &key, &validation).unwrap();
        world.mock.rotate_google_keys();
    }
}

#[tokio::test]
async fn the_certificates_are_those_of_the_key_set_and_kept_as_long() {
    let world = World::new().await;
    for _ in 0..4 {
        let (keys, certificates) = (key_set(&world).await, certificates(&world).await);
        let mut named: Vec<_> = kids(&world).await;
        named.sort_by_key(ToString::to_string);
        let members = certificates.json();
        let members = members.as_object().unwrap().keys().cloned();
        // Their order says nothing, and is not always that of the alphabet.
        let mut members: Vec<_> = members.map(Value::from).collect();
        members.sort_by_key(ToString::to_string);
        assert_eq!(members, named);
        assert_eq!(
            certificates.header("cache-control"),
            keys.header("cache-control")
        );
        world.mock.rotate_google_keys();
    }
}

#[tokio::test]
async fn the_certificates_are_in_the_same_trouble_as_the_key_set() {
    let world = World::new().await;
    world.queue(GOOGLE, Next::Misbehave(Misbehaviour::Keys500));
    world.sign_in(GOOGLE).await;
    assert_eq!(certificates(&world).await.status, 500);
    assert_eq!(certificates(&world).await.status, 200);
}
