//! PKCE with S256 (RFC 7636), as far as a provider needs it.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

/// What a verifier must hash to: 43 characters of base64url.
#[derive(Clone)]
pub(crate) struct Challenge(String);

/// A challenge or a method that cannot be used.
pub(crate) struct Unusable;

impl Challenge {
    /// Reads `code_challenge` and `code_challenge_method`, which come both or
    /// not at all. `plain` is unusable, and so is a missing method, for it
    /// means `plain`.
    pub(crate) fn parse(
        challenge: Option<&str>,
        method: Option<&str>,
    ) -> Result<Option<Self>, Unusable> {
        match (challenge, method) {
            (None, None) => Ok(None),
            (Some(challenge), Some("S256")) if is_sha256(challenge) => {
                Ok(Some(Self(challenge.to_owned())))
            }
            _ => Err(Unusable),
        }
    }

    /// Whether `verifier` is the one this challenge was made from.
    pub(crate) fn admits(&self, verifier: &str) -> bool {
        URL_SAFE_NO_PAD.encode(Sha256::digest(verifier)) == self.0
    }
}

fn is_sha256(challenge: &str) -> bool {
    let url_safe = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    challenge.len() == 43 && challenge.bytes().all(url_safe)
}
