//! How an ID token is signed: as Google does it, or as a forger would.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, EncodingKey, crypto};
use serde::Serialize;

use super::keys::Key;
use crate::{Misbehaviour, chance};

/// Signs, and is never published.
const UNPUBLISHED: &[u8] = include_bytes!("../../keys/unpublished.pem");

/// Of another kind than all that are published.
const ELLIPTIC: &[u8] = include_bytes!("../../keys/elliptic.pem");

/// The first part of a token.
#[derive(Serialize)]
struct Header<'a> {
    alg: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    kid: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    typ: Option<&'a str>,
}

/// A token of `claims`, which are JSON, sealed with `key` unless told otherwise.
pub(super) fn seal(
    claims: &str,
    key: &Key,
    typ: Option<&str>,
    misbehaviour: Option<Misbehaviour>,
) -> String {
    use Misbehaviour as M;
    let sound = Header {
        alg: "RS256",
        kid: Some(&key.kid),
        typ,
    };
    let new_kid = chance::lower_hex(40);
    let rs256 = |header, key: &EncodingKey| signed(&header, claims, key, Algorithm::RS256);
    match misbehaviour {
        Some(M::BadSignature) => with_bad_signature(&rs256(sound, &key.signing)),
        Some(M::UnknownKid | M::Keys500 | M::KeysTimeout) => {
            let kid = Some(new_kid.as_str());
            rs256(Header { kid, ..sound }, &key.signing)
        }
        Some(M::NoKid) => rs256(Header { kid: None, ..sound }, &key.signing),
        Some(M::StaleKeys) => {
            let kid = Some(new_kid.as_str());
            rs256(Header { kid, ..sound }, &rsa_key(UNPUBLISHED))
        }
        Some(M::AlgNone) => unsigned(
            &Header {
                alg: "none",
                ..sound
            },
            claims,
        ),
        Some(M::AlgHs256) => {
            let secret = EncodingKey::from_secret(key.modulus.as_bytes());
            let header = Header {
                alg: "HS256",
                ..sound
            };
            signed(&header, claims, &secret, Algorithm::HS256)
        }
        Some(M::AlgEs256) => {
            let elliptic = EncodingKey::from_ec_pem(ELLIPTIC).expect("the committed key is one");
            let header = Header {
                alg: "ES256",
                ..sound
            };
            signed(&header, claims, &elliptic, Algorithm::ES256)
        }
        _ => rs256(sound, &key.signing),
    }
}

pub(super) fn rsa_key(pem: &[u8]) -> EncodingKey {
    EncodingKey::from_rsa_pem(pem).expect("the committed keys are RSA keys")
}

fn signed(header: &Header<'_>, claims: &str, key: &EncodingKey, algorithm: Algorithm) -> String {
    let message = message(header, claims);
    let signature = crypto::sign(message.as_bytes(), key, algorithm)
        .expect("each key is used with its own algorithm");
    format!("{message}.{signature}")
}

fn unsigned(header: &Header<'_>, claims: &str) -> String {
    format!("{}.", message(header, claims))
}

fn message(header: &Header<'_>, claims: &str) -> String {
    let header = serde_json::to_string(header).expect("our own types become JSON");
    let encoded = |part: &str| URL_SAFE_NO_PAD.encode(part);
    format!("{}.{}", encoded(&header), encoded(claims))
}

/// One bit off: the token is well-formed, its key known, and yet it is forged.
fn with_bad_signature(token: &str) -> String {
    let (signed, signature) = token.rsplit_once('.').expect("a JWT has three parts");
    let mut bytes = URL_SAFE_NO_PAD
        .decode(signature)
        .expect("a signature is base64url");
    bytes[0] ^= 1;
    format!("{signed}.{}", URL_SAFE_NO_PAD.encode(bytes))
}
