//! Google's discovery document and key set.

use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header};
use mock_upstream::{Iss, Misbehaviour, Next};
use serde_json::{Value, json};

use super::id_token::verified;
use crate::test_mock::{CLIENT_ID, GOOGLE, Response, TestMock};

const KEYS: &str = "/oauth2/v3/certs";

pub(crate) async fn key_set(mock: &TestMock) -> Response {
    mock.get(GOOGLE, KEYS).await
}

async fn kids(mock: &TestMock) -> Vec<Value> {
    let keys = key_set(mock).await.json();
    let keys = keys["keys"].as_array().unwrap().iter();
    keys.map(|key| key["kid"].clone()).collect()
}

/// The same keys as X.509 certificates in PEM, by `kid`.
async fn certificates(mock: &TestMock) -> Response {
    mock.get(GOOGLE, "/oauth2/v1/certs").await
}

async fn discovery(mock: &TestMock) -> Value {
    let path = "/.well-known/openid-configuration";
    mock.get(GOOGLE, path).await.json()
}

// Endpoints: developers.google.com/identity/openid-connect/reference. Lists: panva/wellknown,
// 2024.
#[tokio::test]
async fn discovery_has_googles_endpoints_and_lists() {
    let mock = TestMock::new().await;
    let url = |path| mock.url(GOOGLE, path);
    let words = |list: &str| list.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let response_types =
        "code|token|id_token|code token|code id_token|token id_token|code token id_token|none";
    let grant_types = "authorization_code refresh_token \
                       urn:ietf:params:oauth:grant-type:device_code \
                       urn:ietf:params:oauth:grant-type:jwt-bearer";
    let claims = "aud email email_verified exp family_name given_name iat iss name picture sub";
    let expected = json!({
        "issuer": url(""),
        "authorization_endpoint": url("/o/oauth2/v2/auth"),
        "token_endpoint": url("/token"),
        "userinfo_endpoint": url("/v1/userinfo"),
        "revocation_endpoint": url("/revoke"),
        "jwks_uri": url("/oauth2/v3/certs"),
        "device_authorization_endpoint": url("/device/code"),
        "response_types_supported": response_types.split('|').collect::<Vec<_>>(),
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["RS256"],
        "scopes_supported": ["openid", "email", "profile"],
        "token_endpoint_auth_methods_supported": ["client_secret_post", "client_secret_basic"],
        "claims_supported": words(claims),
        "code_challenge_methods_supported": ["plain", "S256"],
        "grant_types_supported": words(grant_types),
    });
    assert_eq!(discovery(&mock).await, expected);
}

// Google's reference lists the member since 2026; its value is not confirmed. RFC 9207,
// section 2.3: it would be a promise for every callback, errors included.
#[tokio::test]
async fn discovery_announces_iss_if_it_is_chosen_and_every_callback_carries_it() {
    for (chosen, iss, announced) in [
        (false, Iss::Errors, None),
        (true, Iss::Errors, Some(true)),
        (true, Iss::On, None),
        (true, Iss::Off, None),
    ] {
        let mock = TestMock::with(|settings| {
            settings.google.iss = iss;
            settings.google.unconfirmed.google_announces_iss = chosen;
        });
        let document = discovery(&mock.await).await;
        let member = document.get("authorization_response_iss_parameter_supported");
        assert_eq!(member, announced.map(Value::from).as_ref(), "{iss:?}");
    }
}

// panva/wellknown: Google's key set, committed on every change.
#[tokio::test]
async fn a_key_looks_like_googles() {
    let keys = key_set(&TestMock::new().await).await.json();
    let keys = keys["keys"].as_array().unwrap();
    assert_eq!(keys.len(), 2);
    for key in keys {
        let (kid, n) = (key["kid"].as_str().unwrap(), key["n"].as_str().unwrap());
        assert!(kid.len() == 40 && kid.bytes().all(|byte| byte.is_ascii_hexdigit()));
        assert_eq!(n.len(), 342);
        let expected = json!({
            "kty": "RSA", "alg": "RS256", "use": "sig", "e": "AQAB", "kid": kid, "n": n,
        });
        assert_eq!(*key, expected);
    }
}

// Seen on a sibling endpoint; the exact max-age varies.
#[tokio::test]
async fn the_key_set_has_a_max_age_that_can_be_chosen() {
    let response = key_set(&TestMock::new().await).await;
    let caching = "public, max-age=24442, must-revalidate, no-transform";
    assert_eq!(response.header("cache-control"), caching);
    let chosen = |settings: &mut mock_upstream::Settings| {
        settings.google.unconfirmed.google_keys_max_age_seconds = 60;
    };
    let response = key_set(&TestMock::with(chosen).await).await;
    assert!(response.header("cache-control").contains("max-age=60,"));
}

// panva/wellknown: three keys for a day, then the oldest is removed.
#[tokio::test]
async fn rotation_adds_a_third_key_that_signs_and_then_removes_the_oldest() {
    let mock = TestMock::new().await;
    let (two, older) = (
        kids(&mock).await,
        mock.sign_in(GOOGLE).await.text("id_token"),
    );
    mock.upstreams.rotate_google_keys();
    let (three, newer) = (
        kids(&mock).await,
        mock.sign_in(GOOGLE).await.text("id_token"),
    );
    assert_eq!((three.len(), &three[..2]), (3, &two[..]));
    assert_eq!(decode_header(&newer).unwrap().kid.unwrap(), three[2]);
    verified(&mock, &older).await;
    verified(&mock, &newer).await;
    mock.upstreams.rotate_google_keys();
    assert_eq!(kids(&mock).await, three[1..]);
    mock.upstreams.google().reset();
    assert_eq!(kids(&mock).await, two);
}

// google-auth verifies ID tokens with them unless it is given another address.
#[tokio::test]
async fn the_certificates_are_those_of_the_keys_with_their_caching() {
    let mock = TestMock::new().await;
    for _ in 0..4 {
        let (keys, certificates) = (key_set(&mock).await, certificates(&mock).await);
        let mut expected = kids(&mock).await;
        expected.sort_by_key(ToString::to_string);
        let expected: Vec<_> = expected.iter().filter_map(Value::as_str).collect();
        assert_eq!(certificates.members(), expected.join(" "));
        let caching = certificates.header("cache-control");
        assert_eq!(caching, keys.header("cache-control"));

        let token = mock.sign_in(GOOGLE).await.text("id_token");
        let pem = certificates.text(&decode_header(&token).unwrap().kid.unwrap());
        assert!(pem.starts_with("-----BEGIN CERTIFICATE-----\n"), "{pem}");
        assert!(pem.ends_with("\n-----END CERTIFICATE-----\n"), "{pem}");
        let key = DecodingKey::from_rsa_pem(pem.as_bytes()).unwrap();
        decode::<Value>(&token, &key, &validation()).unwrap();
        mock.upstreams.rotate_google_keys();
    }
}

/// RS256, for our client; the mock has its own clock.
pub(crate) fn validation() -> Validation {
    let mut validation = Validation::new(Algorithm::RS256);
    validation.set_audience(&[CLIENT_ID]);
    validation.validate_exp = false;
    validation
}

async fn mock_whose_keys_fail() -> TestMock {
    let mock = TestMock::new().await;
    mock.queue(GOOGLE, Next::Misbehave(Misbehaviour::Keys500));
    mock.sign_in(GOOGLE).await;
    mock
}

#[tokio::test]
async fn a_failure_of_the_keys_is_for_the_next_get_of_either_format_within_ten_seconds() {
    let mock = mock_whose_keys_fail().await;
    let head = Response::of(mock.request(GOOGLE, "HEAD", KEYS)).await;
    assert_eq!(head.status, 200);
    assert_eq!(certificates(&mock).await.status, 500);
    assert_eq!(certificates(&mock).await.status, 200);
    for (waited_ms, status) in [(9_999, 500), (10_000, 200)] {
        let mock = mock_whose_keys_fail().await;
        mock.advance_ms(waited_ms);
        assert_eq!(key_set(&mock).await.status, status, "{waited_ms}");
    }
}

#[tokio::test]
async fn a_failure_of_the_keys_ends_with_the_next_unknown_key() {
    for next in [Misbehaviour::UnknownKid, Misbehaviour::StaleKeys] {
        let mock = mock_whose_keys_fail().await;
        mock.queue(GOOGLE, Next::Misbehave(next));
        mock.sign_in(GOOGLE).await;
        assert_eq!(key_set(&mock).await.status, 200, "{next:?}");
    }
}
