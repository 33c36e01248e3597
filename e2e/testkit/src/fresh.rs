//! Values that no other test of the process uses: keys, states, verifiers.

use std::sync::atomic::{AtomicU64, Ordering};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};

use crate::leak_check::MARK;

static DRAWN: AtomicU64 = AtomicU64::new(0);

/// 43 characters of base64url: a session key, a state or a verifier. It begins
/// with the mark by which the leak check recognises it even when it is cut off.
pub fn secret() -> String {
    let number = DRAWN.fetch_add(1, Ordering::Relaxed);
    marked(&base64url(&Sha256::digest(format!(
        "{number} of these tests"
    ))))
}

/// A secret of 43 characters with its beginning replaced by the mark.
fn marked(drawn: &str) -> String {
    format!("{MARK}{}", &drawn[MARK.len()..])
}

/// The S256 challenge of `verifier`.
pub fn challenge(verifier: &str) -> String {
    base64url(&Sha256::digest(verifier))
}

/// The subject of an account, as the broker's documentation derives it.
pub fn subject(provider: &str, provider_subject: &str) -> String {
    let digest = Sha256::digest(format!("{provider}\u{1F}{provider_subject}"));
    format!("sub_{}", base64url(&digest))
}

fn base64url(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}
