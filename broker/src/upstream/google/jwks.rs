//! The keys with which an issuer signs.

use std::collections::HashMap;
use std::sync::Arc;

use jsonwebtoken::DecodingKey;
use jsonwebtoken::jwk::{AlgorithmParameters, Jwk, KeyAlgorithm, PublicKeyUse};
use serde::Deserialize;
use serde_json::Value;

use crate::upstream::client::Answer;
use crate::upstream::failure::Failure;

/// The RS256 keys of a JWKS document by their ids; of two with one id the first.
pub(in crate::upstream) struct Jwks(HashMap<String, Arc<DecodingKey>>);

/// The keys are parsed one by one, so that a key of an unknown kind does not fail the
/// others.
#[derive(Deserialize)]
struct Document {
    keys: Vec<Value>,
}

impl Jwks {
    /// Reads the document.
    pub(in crate::upstream) fn read(answer: &Answer) -> Result<Self, Failure> {
        let document: Document = answer.json().map_err(Failure::of_document)?;
        let mut keys = HashMap::new();
        for (id, key) in document.keys.into_iter().filter_map(usable) {
            keys.entry(id).or_insert_with(|| Arc::new(key));
        }
        if keys.is_empty() {
            return Err(Failure::Document);
        }
        Ok(Self(keys))
    }

    /// The key with this id.
    pub(in crate::upstream) fn find(&self, id: &str) -> Option<Arc<DecodingKey>> {
        self.0.get(id).cloned()
    }

    /// The number of keys.
    pub(in crate::upstream) fn len(&self) -> usize {
        self.0.len()
    }
}

/// Prints the ids alone: keys are public, and long.
impl std::fmt::Debug for Jwks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// An RSA key that may verify RS256 signatures, with its id.
fn usable(key: Value) -> Option<(String, DecodingKey)> {
    let key: Jwk = serde_json::from_value(key).ok()?;
    let is_rsa = matches!(key.algorithm, AlgorithmParameters::RSA(_));
    let is_rs256 = matches!(key.common.key_algorithm, None | Some(KeyAlgorithm::RS256));
    let signs = matches!(
        key.common.public_key_use,
        None | Some(PublicKeyUse::Signature)
    );
    let decoding = DecodingKey::from_jwk(&key).ok()?;
    let id = key.common.key_id?;
    (is_rsa && is_rs256 && signs).then_some((id, decoding))
}
