//! The keys that sign ID tokens, their rotation, and their publication.
//!
//! Google publishes two keys. About every eight days a third one joins them, and a day
//! later the oldest is removed. The mock's keys are fixed, because generating one takes up
//! to half a second, and they are marked as mock only.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use jsonwebtoken::jwk::{AlgorithmParameters, Jwk};
use jsonwebtoken::{
    Algorithm, DecodingKey, EncodingKey, TokenData, Validation, decode, decode_header,
};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::expiring_store::ExpiringStore;
use crate::http::{Request, Response};
use crate::misbehaviour::ResponseFault;
use crate::provider::context::ProviderContext;
use crate::provider::faulty;

/// Each key with its certificate, whose subject warns against trusting it.
const PEMS: [(&[u8], &str); 3] = [
    (
        include_bytes!("../../keys/first.pem"),
        include_str!("../../keys/first.crt"),
    ),
    (
        include_bytes!("../../keys/second.pem"),
        include_str!("../../keys/second.crt"),
    ),
    (
        include_bytes!("../../keys/third.pem"),
        include_str!("../../keys/third.crt"),
    ),
];

/// Read once: it takes longer than most of what a mock does.
static KEYS: LazyLock<[Key; PEMS.len()]> = LazyLock::new(|| PEMS.map(Key::read));

/// The keys that are published. The ring is short: a removed key returns after the next two,
/// which no real key does.
#[derive(Default)]
pub(super) struct KeyRing {
    /// The steps since the start: each odd one adds a third key to two, each even one removes
    /// the oldest of three.
    steps: AtomicUsize,
    /// The fault of the next response with the published keys.
    failure: ExpiringStore<ResponseFault>,
}

/// The name under which the failure is kept.
const FAILURE: &str = "keys";

/// The time after which a failure is dropped unused. No client requests the keys for its
/// token later than this.
const FAILURE_LIFETIME_MS: i64 = 10 * 1000;

/// An RSA key: its private and its public half.
pub(super) struct Key {
    pub(super) kid: String,
    pub(super) modulus: String,
    exponent: String,
    certificate: &'static str,
    pub(super) signing: EncodingKey,
}

impl KeyRing {
    /// The published keys in this format, with Google's caching, unless this request is to fail.
    /// A HEAD never does.
    pub(super) fn respond(
        &self,
        context: &ProviderContext,
        http: &Request,
        format: fn(&Self) -> Value,
    ) -> Response {
        let max_age = context.settings.unconfirmed.google_keys_max_age_seconds;
        let caching = format!("public, max-age={max_age}, must-revalidate, no-transform");
        let good = Response::json(200, &format(self)).with_header("cache-control", caching);
        if http.is_head() {
            return good;
        }
        match self.failure.take(FAILURE, context.now_ms()) {
            Some(fault) => faulty(fault, context.provider, good),
            None => good,
        }
    }

    /// Lets the next request for the published keys fail.
    pub(super) fn fail_next(&self, fault: ResponseFault, now_ms: i64) {
        let expires_ms = now_ms + FAILURE_LIFETIME_MS;
        self.failure.put(FAILURE.to_owned(), fault, expires_ms);
    }

    pub(super) fn clear_failure(&self) {
        self.failure.clear();
    }

    /// The published keys as a JSON Web Key Set.
    pub(super) fn jwks(&self) -> Value {
        let keys: Vec<_> = self.published().map(Key::jwk).collect();
        json!({ "keys": keys })
    }

    /// The certificates of the published keys in PEM, by `kid`.
    pub(super) fn certificates(&self) -> Value {
        let by_kid = |key: &Key| (key.kid.clone(), Value::from(key.certificate));
        self.published().map(by_kid).collect()
    }

    /// The claims of `token`, if a published key signed it.
    pub(super) fn verified(&self, token: &str) -> Option<TokenData<Map<String, Value>>> {
        let kid = decode_header(token).ok()?.kid?;
        let key = self.published().find(|key| key.kid == kid)?;
        let key = DecodingKey::from_rsa_components(&key.modulus, &key.exponent).ok()?;
        // The caller checks the expiry, because jsonwebtoken would read the system's time.
        let mut validation = Validation::new(Algorithm::RS256);
        validation.required_spec_claims.clear();
        validation.validate_aud = false;
        validation.validate_exp = false;
        decode(token, &key, &validation).ok()
    }

    /// The published keys, the oldest first.
    fn published(&self) -> impl DoubleEndedIterator<Item = &'static Key> + use<> {
        let steps = self.steps.load(Ordering::Relaxed);
        let (oldest, number) = (steps / 2, 2 + steps % 2);
        (oldest..oldest + number).map(|position| &KEYS[position % KEYS.len()])
    }

    /// The signing key.
    pub(super) fn newest(&self) -> &'static Key {
        let newest = self.published().next_back();
        newest.expect("two keys are always published")
    }

    pub(super) fn rotate(&self) {
        self.steps.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn reset(&self) {
        self.steps.store(0, Ordering::Relaxed);
        self.failure.clear();
    }
}

impl Key {
    fn read((pem, certificate): (&[u8], &'static str)) -> Self {
        let signing = rsa_key(pem);
        let jwk = Jwk::from_encoding_key(&signing, Algorithm::RS256)
            .expect("an RSA key has a public half");
        let AlgorithmParameters::RSA(public) = jwk.algorithm else {
            unreachable!("the public half of an RSA key is an RSA key")
        };
        Self {
            kid: kid_of(&public.n),
            modulus: public.n,
            exponent: public.e,
            certificate,
            signing,
        }
    }

    fn jwk(&self) -> Value {
        json!({
            "kty": "RSA",
            "alg": "RS256",
            "use": "sig",
            "kid": self.kid,
            "n": self.modulus,
            "e": self.exponent,
        })
    }
}

/// 40 hexadecimal digits, as Google's have, that depend on the key alone.
fn kid_of(modulus: &str) -> String {
    let digest = Sha256::digest(modulus);
    digest[..20]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

pub(super) fn rsa_key(pem: &[u8]) -> EncodingKey {
    EncodingKey::from_rsa_der(&crypto::pkcs8(pem))
}
