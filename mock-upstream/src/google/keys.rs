//! The keys that sign ID tokens, and how they rotate.
//!
//! Google publishes two; a new one joins them about every eight days, and a day
//! later the oldest goes. The keys are fixed, because making one takes up to
//! half a second, and marked as mock only.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard};

use jsonwebtoken::jwk::{AlgorithmParameters, Jwk};
use jsonwebtoken::{Algorithm, EncodingKey};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::seal::rsa_key;
use crate::answer::Answer;

const PEMS: [&[u8]; 3] = [
    include_bytes!("../../keys/first.pem"),
    include_bytes!("../../keys/second.pem"),
    include_bytes!("../../keys/third.pem"),
];

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
    pub(super) signing: EncodingKey,
}

impl KeyRing {
    pub(crate) fn new() -> Self {
        Self {
            keys: PEMS.map(Key::read),
            published: Mutex::new(Published::at_the_start()),
        }
    }

    /// The key set, cacheable as Google's is.
    pub(super) fn answer(&self, max_age_seconds: u32) -> Answer {
        let published = self.lock();
        let keys: Vec<_> = published.0.iter().map(|&at| self.keys[at].jwk()).collect();
        let caching = format!("public, max-age={max_age_seconds}, must-revalidate, no-transform");
        Answer::json(200, &json!({ "keys": keys })).with("cache-control", caching)
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
    fn read(pem: &[u8]) -> Self {
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
