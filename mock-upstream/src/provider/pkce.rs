//! A provider's side of PKCE with S256 (RFC 7636).

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

/// A code challenge: the digest of the verifier in 43 characters of base64url.
pub(crate) struct Challenge(String);

/// A challenge or a method that the mock does not support.
pub(crate) struct UnusableChallenge;

impl Challenge {
    /// Reads `code_challenge` and `code_challenge_method`, which come both or not at
    /// all. `plain` is unusable, and so is a missing method, because it means `plain`.
    pub(crate) fn parse(
        challenge: Option<&str>,
        method: Option<&str>,
    ) -> Result<Option<Self>, UnusableChallenge> {
        match (challenge, method) {
            (None, None) => Ok(None),
            (Some(challenge), Some("S256")) if is_sha256(challenge) => {
                Ok(Some(Self(challenge.to_owned())))
            }
            _ => Err(UnusableChallenge),
        }
    }

    /// Whether this challenge is the digest of `verifier`.
    pub(crate) fn matches(&self, verifier: &str) -> bool {
        URL_SAFE_NO_PAD.encode(Sha256::digest(verifier)) == self.0
    }
}

fn is_sha256(challenge: &str) -> bool {
    let url_safe = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    challenge.len() == 43 && challenge.bytes().all(url_safe)
}
