//! The keys that sign ID tokens, and how they rotate.
//!
//! Google publishes two; a new one joins them about every eight days, and a day
//! later the oldest goes. The keys are fixed, because making one takes up to
//! half a second, and marked as mock only.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard};

use jsonwebtoken::jwk::{AlgorithmParameters, Jwk};
use jsonwebtoken::{
    Algorithm, DecodingKey, EncodingKey, TokenData, Validation, decode, decode_header,
};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::seal::rsa_key;
use crate::answer::Answer;

/// Each key with its certificate, whose name says not to trust it.
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

/// The formats of public keys.
#[derive(Clone, Copy)]
pub(super) enum KeyForm {
    /// A JSON Web Key Set.
    Jwks,
    /// X.509 certificates in PEM, by `kid`.
    Certificates,
}

/// All keys, and which of them are published.
pub(crate) struct KeyRing {
    keys: [Key; PEMS.len()],
    published: Mutex<Published>,
}

/// Positions in the ring, oldest first; the newest one signs.
struct Published(VecDeque<usize>);

/// An RSA key, both halves.
pub(super) struct Key {
    pub(super) kid: String,
    pub(super) modulus: String,
    exponent: String,
    certificate: &'static str,
    pub(super) signing: EncodingKey,
}

impl KeyRing {
    pub(crate) fn new() -> Self {
        Self {
            keys: PEMS.map(Key::read),
            published: Mutex::new(Published::at_the_start()),
        }
    }

    /// The published keys, cacheable as Google's are.
    pub(super) fn answer(&self, form: KeyForm, max_age_seconds: u32) -> Answer {
        let keys = self.published();
        let body = match form {
            KeyForm::Jwks => json!({ "keys": keys.map(Key::jwk).collect::<Vec<_>>() }),
            KeyForm::Certificates => keys
                .map(|key| (key.kid.clone(), Value::from(key.certificate)))
                .collect(),
        };
        let caching = format!("public, max-age={max_age_seconds}, must-revalidate, no-transform");
        Answer::json(200, &body).with("cache-control", caching)
    }

    /// The claims of `token`, if a published key signed it.
    pub(super) fn verified(&self, token: &str) -> Option<TokenData<Map<String, Value>>> {
        let kid = decode_header(token).ok()?.kid?;
        let key = self.published().find(|key| key.kid == kid)?;
        let key = DecodingKey::from_rsa_components(&key.modulus, &key.exponent).ok()?;
        // The caller checks the expiry: jsonwebtoken would ask the system for the time.
        let mut validation = Validation::new(Algorithm::RS256);
        validation.required_spec_claims.clear();
        validation.validate_aud = false;
        validation.validate_exp = false;
        decode(token, &key, &validation).ok()
    }

    /// Oldest first.
    fn published(&self) -> impl Iterator<Item = &Key> {
        let published: Vec<_> = self.lock().0.iter().copied().collect();
        published.into_iter().map(|at| &self.keys[at])
    }

    /// The key that signs.
    pub(super) fn newest(&self) -> &Key {
        let newest = self.lock().newest();
        &self.keys[newest]
    }

    pub(crate) fn rotate(&self) {
        self.lock().rotate();
    }

    pub(super) fn reset(&self) {
        *self.lock() = Published::at_the_start();
    }

    fn lock(&self) -> MutexGuard<'_, Published> {
        self.published
            .lock()
            .expect("nothing panics while it holds the ring")
    }
}

impl Published {
    fn at_the_start() -> Self {
        Self(VecDeque::from([0, 1]))
    }

    /// Two become three, three become two. The ring is short: a key that went
    /// comes back after the next two, which no real key does.
    fn rotate(&mut self) {
        if self.0.len() == PEMS.len() {
            self.0.pop_front();
        } else {
            self.0.push_back((self.newest() + 1) % PEMS.len());
        }
    }

    fn newest(&self) -> usize {
        *self.0.back().expect("two keys are always published")
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

/// 40 hexadecimal digits, like Google's, that name the key for good.
fn kid_of(modulus: &str) -> String {
    let digest = Sha256::digest(modulus);
    digest[..20]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
