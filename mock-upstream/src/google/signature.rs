//! The signature of an ID token: Google's, or a forger's.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, EncodingKey, crypto};
use serde::Serialize;

use super::keys::{Key, rsa_key};
use crate::{Misbehaviour, random};

/// An RSA key that is never published.
const UNPUBLISHED: &[u8] = include_bytes!("../../keys/unpublished.pem");

/// An elliptic-curve key; all published keys are RSA keys.
const ELLIPTIC: &[u8] = include_bytes!("../../keys/elliptic.pem");

/// Signs `claims`, which are JSON, with `key`, unless the misbehaviour forges the token.
pub(super) fn sign(
    claims: &str,
    key: &Key,
    typ: Option<&str>,
    misbehaviour: Option<Misbehaviour>,
) -> String {
    use Misbehaviour as M;
    let new_kid = random::lower_hex(40);
    let kid = match misbehaviour {
        Some(M::UnknownKid | M::Keys500 | M::KeysTimeout | M::StaleKeys) => Some(new_kid.as_str()),
        Some(M::NoKid) => None,
        _ => Some(key.kid.as_str()),
    };
    let token = UnsignedToken { kid, typ, claims };
    match misbehaviour {
        Some(M::BadSignature) => with_bad_signature(&token.rs256(&key.signing)),
        Some(M::StaleKeys) => token.rs256(&rsa_key(UNPUBLISHED)),
        Some(M::AlgNone) => format!("{}.", token.message("none")),
        Some(M::AlgHs256) => {
            let secret = EncodingKey::from_secret(key.modulus.as_bytes());
            token.signed("HS256", Algorithm::HS256, &secret)
        }
        Some(M::AlgEs256) => {
            let key = EncodingKey::from_ec_pem(ELLIPTIC).expect("the committed key is one");
            token.signed("ES256", Algorithm::ES256, &key)
        }
        _ => token.rs256(&key.signing),
    }
}

/// The content of a token, before an algorithm is chosen.
struct UnsignedToken<'a> {
    kid: Option<&'a str>,
    typ: Option<&'a str>,
    claims: &'a str,
}

#[derive(Serialize)]
struct Header<'a> {
    alg: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    kid: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    typ: Option<&'a str>,
}

impl UnsignedToken<'_> {
    fn rs256(&self, key: &EncodingKey) -> String {
        self.signed("RS256", Algorithm::RS256, key)
    }

    fn signed(&self, alg: &str, algorithm: Algorithm, key: &EncodingKey) -> String {
        let message = self.message(alg);
        let signature = crypto::sign(message.as_bytes(), key, algorithm)
            .expect("each key is used with its own algorithm");
        format!("{message}.{signature}")
    }

    /// The first two parts of the token.
    fn message(&self, alg: &str) -> String {
        let header = Header {
            alg,
            kid: self.kid,
            typ: self.typ,
        };
        let header = serde_json::to_string(&header).expect("our own types become JSON");
        let encoded = |part: &str| URL_SAFE_NO_PAD.encode(part);
        format!("{}.{}", encoded(&header), encoded(self.claims))
    }
}

/// Flips one bit of the signature: the token is well-formed, its key known, and it is
/// forged.
fn with_bad_signature(token: &str) -> String {
    let (message, signature) = token.rsplit_once('.').expect("a JWT has three parts");
    let mut bytes = URL_SAFE_NO_PAD
        .decode(signature)
        .expect("a signature is base64url");
    bytes[0] ^= 1;
    format!("{message}.{}", URL_SAFE_NO_PAD.encode(bytes))
}
