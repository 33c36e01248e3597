//! Values that no other test of the process uses: keys, states, verifiers.

use std::sync::atomic::{AtomicU64, Ordering};

use agent::random::digest;

pub use agent::random::challenge;

use crate::leak_check::MARK;

static DRAWN: AtomicU64 = AtomicU64::new(0);

/// 43 characters of base64url: a session key, a state or a verifier. It begins
/// with the mark by which the leak check recognises it even when it is cut off.
pub fn secret() -> String {
    let number = DRAWN.fetch_add(1, Ordering::Relaxed);
    let drawn = digest(&format!("{number} of these tests"));
    format!("{MARK}{}", &drawn[MARK.len()..])
}

/// The subject of an account, as the broker's documentation derives it.
pub fn subject(provider: &str, provider_subject: &str) -> String {
    format!(
        "sub_{}",
        digest(&format!("{provider}\u{1F}{provider_subject}"))
    )
}
