//! Values that no other test of this binary uses: keys, states, verifiers, names.

use std::sync::atomic::{AtomicU64, Ordering};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};
use testkit::leak_check::MARK;

static DRAWN: AtomicU64 = AtomicU64::new(0);

/// 43 characters of base64url: a session key, a state or a verifier. It begins
/// with the mark by which the sentinel knows it, cut off as it may be.
pub(crate) fn secret() -> String {
    let number = DRAWN.fetch_add(1, Ordering::Relaxed);
    let drawn = base64url(&Sha256::digest(format!("{number} of these tests")));
    format!("{MARK}{}", &drawn[MARK.len()..])
}

/// The challenge that `verifier` meets.
pub(crate) fn challenge(verifier: &str) -> String {
    base64url(&Sha256::digest(verifier))
}

/// The subject of an account, as the broker's documentation derives it.
pub(crate) fn subject(provider: &str, provider_subject: &str) -> String {
    let digest = Sha256::digest(format!("{provider}\u{1F}{provider_subject}"));
    format!("sub_{}", base64url(&digest))
}

fn base64url(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}
