//! Secrets from the operating system's generator, and their challenges.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rand::TryRng as _;
use rand::rngs::SysRng;
use sha2::{Digest as _, Sha256};

/// 32 unpredictable bytes as 43 characters of base64url: a session key, a state, or
/// half a verifier.
///
/// # Panics
///
/// If the operating system has no randomness to give: no login can start then.
pub(crate) fn secret() -> String {
    let mut bytes = [0; 32];
    SysRng
        .try_fill_bytes(&mut bytes)
        .expect("the operating system provides randomness");
    URL_SAFE_NO_PAD.encode(bytes)
}

/// The PKCE challenge of a verifier.
pub(crate) fn challenge(verifier: &str) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(verifier))
}
