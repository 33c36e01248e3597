//! Google's discovery document and key set.

use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header};
use mock_upstream::{Iss, Misbehaviour, Next, Settings};
use serde_json::Value;

use super::GOOGLE;
use crate::google::id_token::verified;
use crate::test_mock::{CLIENT_ID, Response, TestMock};

pub(crate) async fn key_set(mock: &TestMock) -> Response {
    let url = format!("{}/oauth2/v3/certs", mock.upstreams.google().url());
    mock.get(&url).await
}

pub(crate) async fn kids(mock: &TestMock) -> Vec<Value> {
    let keys = key_set(mock).await.json();
    let keys = keys["keys"].as_array().unwrap().iter();
    keys.map(|key| key["kid"].clone()).collect()
}

// developers.google.com/identity/openid-connect/reference.
#[tokio::test]
async fn discovery_lists_every_endpoint() {
    let mock = TestMock::new().await;
    let url = mock.upstreams.google().url();
    let document = mock
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
    let mock = TestMock::new().await;
    let document = discovery(&mock).await;
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

async fn discovery(mock: &TestMock) -> Value {
    let url = mock.upstreams.google().url();
    let path = "/.well-known/openid-configuration";
    mock.get(&format!("{url}{path}")).await.json()
}

const ISS_ANNOUNCED: &str = "authorization_response_iss_parameter_supported";

// Google's reference lists the member since 2026; its value is not confirmed.
#[tokio::test]
async fn the_setting_decides_whether_discovery_announces_iss() {
    for chosen in [false, true] {
        let mock = TestMock::with(|settings| {
            settings.google.iss = Iss::Errors;
            settings.google.unconfirmed.google_announces_iss = chosen;
        });
        let announced = discovery(&mock.await).await.get(ISS_ANNOUNCED).cloned();
        assert_eq!(announced, chosen.then_some(Value::Bool(true)));
    }
}

// RFC 9207, section 2.3: it would be a promise for every callback, errors included.
#[tokio::test]
async fn discovery_announces_iss_only_if_every_callback_carries_it() {
    let mock = TestMock::with(|settings| settings.google.unconfirmed.google_announces_iss = true);
    let mock = mock.await;
    for iss in [Iss::Off, Iss::On] {
        mock.upstreams.google().set_iss(iss);
        assert_eq!(discovery(&mock).await.get(ISS_ANNOUNCED), None, "{iss:?}");
    }
}

// panva/wellknown: Google's key set, committed on every change.
#[tokio::test]
async fn a_key_looks_like_googles() {
    let mock = TestMock::new().await;
    let keys = key_set(&mock).await.json();
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
async fn the_key_set_has_a_max_age() {
    let mock = TestMock::new().await;
    let response = key_set(&mock).await;
    let caching = "public, max-age=24442, must-revalidate, no-transform";
    assert_eq!(response.header("cache-control"), caching);
}

#[tokio::test]
async fn the_max_age_of_the_key_set_can_be_chosen() {
    let choose = |settings: &mut Settings| {
        settings.google.unconfirmed.google_keys_max_age_seconds = 60;
    };
    let response = key_set(&TestMock::with(choose).await).await;
    assert!(response.header("cache-control").contains("max-age=60,"));
}

// panva/wellknown: three keys for a day, then the oldest is removed.
#[tokio::test]
async fn rotation_adds_a_third_key_and_then_removes_the_oldest() {
    let mock = TestMock::new().await;
    let two = kids(&mock).await;
    mock.upstreams.rotate_google_keys();
    let three = kids(&mock).await;
    assert_eq!(three.len(), 3);
    assert_eq!(three[..2], two);
    mock.upstreams.rotate_google_keys();
    assert_eq!(kids(&mock).await, three[1..]);
}

#[tokio::test]
async fn the_new_key_signs_and_an_older_token_still_verifies() {
    let mock = TestMock::new().await;
    let older = mock.sign_in(GOOGLE).await.text("id_token");
    let before = kids(&mock).await;
    mock.upstreams.rotate_google_keys();
    let newer = mock.sign_in(GOOGLE).await.text("id_token");
    let kid = decode_header(&newer).unwrap().kid.unwrap();
    assert!(!before.contains(&Value::from(kid)));
    verified(&mock, &older).await.unwrap();
    verified(&mock, &newer).await.unwrap();
}

#[tokio::test]
async fn a_reset_restores_the_first_keys() {
    let mock = TestMock::new().await;
    let first = kids(&mock).await;
    mock.upstreams.rotate_google_keys();
    mock.upstreams.google().reset();
    assert_eq!(kids(&mock).await, first);
}

/// The same keys as X.509 certificates in PEM, by `kid`.
async fn certificates(mock: &TestMock) -> Response {
    let url = format!("{}/oauth2/v1/certs", mock.upstreams.google().url());
    mock.get(&url).await
}

// google-auth verifies ID tokens with them unless it is given another address.
#[tokio::test]
async fn a_certificate_verifies_what_its_key_signed() {
    let mock = TestMock::new().await;
    for _ in 0..4 {
        let token = mock.sign_in(GOOGLE).await.text("id_token");
        let kid = decode_header(&token).unwrap().kid.unwrap();
        let certificates = certificates(&mock).await.json();
        let pem = certificates[&kid].as_str().unwrap();
        assert!(pem.starts_with("-----BEGIN CERTIFICATE-----\n"), "{pem}");
        assert!(pem.ends_with("\n-----END CERTIFICATE-----\n"), "{pem}");
        let key = DecodingKey::from_rsa_pem(pem.as_bytes()).unwrap();
        let mut validation = Validation::new(Algorithm::RS256);
        validation.set_audience(&[CLIENT_ID]);
        // The mock has its own clock.
        validation.validate_exp = false;
        decode::<Value>(&token, &key, &validation).unwrap();
        mock.upstreams.rotate_google_keys();
    }
}

#[tokio::test]
async fn the_certificates_have_the_kids_and_the_caching_of_the_key_set() {
    let mock = TestMock::new().await;
    for _ in 0..4 {
        let (keys, certificates) = (key_set(&mock).await, certificates(&mock).await);
        let mut expected: Vec<_> = kids(&mock).await;
        expected.sort_by_key(ToString::to_string);
        let members = certificates.json();
        let members = members.as_object().unwrap().keys().cloned();
        // Their order has no meaning and is not always alphabetical.
        let mut members: Vec<_> = members.map(Value::from).collect();
        members.sort_by_key(ToString::to_string);
        assert_eq!(members, expected);
        assert_eq!(
            certificates.header("cache-control"),
            keys.header("cache-control")
        );
        mock.upstreams.rotate_google_keys();
    }
}

#[tokio::test]
async fn a_failure_of_the_key_set_affects_the_certificates_too() {
    let mock = TestMock::new().await;
    mock.queue(GOOGLE, Next::Misbehave(Misbehaviour::Keys500));
    mock.sign_in(GOOGLE).await;
    assert_eq!(certificates(&mock).await.status, 500);
    assert_eq!(certificates(&mock).await.status, 200);
}
