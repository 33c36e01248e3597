//! Google's published keys and their rotation.

use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header};
use mock_upstream::{Misbehaviour, Next};
use serde_json::{Value, json};

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

// panva/wellknown: Google's key set, committed on every change.
#[tokio::test]
async fn a_key_looks_like_googles() {
    let response = key_set(&TestMock::new().await).await;
    // Seen on a sibling endpoint; the exact max-age varies.
    let caching = "public, max-age=24442, must-revalidate, no-transform";
    assert_eq!(response.header("cache-control"), caching);
    let keys = response.json();
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

// panva/wellknown: three keys for a day, then the oldest is removed.
#[tokio::test]
async fn rotation_adds_a_third_key_that_signs_and_then_removes_the_oldest() {
    let mock = TestMock::new().await;
    let two = kids(&mock).await;
    let older = mock.sign_in(GOOGLE).await.text("id_token");
    mock.upstreams.rotate_google_keys();
    let three = kids(&mock).await;
    let newer = mock.sign_in(GOOGLE).await.text("id_token");
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

/// The claims, once the signature was verified with the published key that the token names.
pub(crate) async fn verified(mock: &TestMock, token: &str) -> Value {
    let keys = key_set(mock).await.json();
    let kid = decode_header(token).unwrap().kid.unwrap();
    let mut published = keys["keys"].as_array().unwrap().iter();
    let key = published.find(|key| key["kid"] == kid).unwrap();
    decode(token, &rsa_key(key), &validation()).unwrap().claims
}

pub(crate) fn rsa_key(key: &Value) -> DecodingKey {
    let (n, e) = (key["n"].as_str().unwrap(), key["e"].as_str().unwrap());
    DecodingKey::from_rsa_components(n, e).unwrap()
}

/// RS256, for our client; the mock has its own clock.
fn validation() -> Validation {
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
