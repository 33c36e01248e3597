//! Session keys, states and verifiers: well formed, and each used once.

use std::sync::atomic::{AtomicU64, Ordering};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rand::TryRng as _;
use rand::rngs::SysRng;
use sha2::{Digest as _, Sha256};

static DRAWN: AtomicU64 = AtomicU64::new(0);

/// 43 characters of base64url, different each time and in each run.
pub(crate) fn secret() -> String {
    static RUN: std::sync::LazyLock<[u8; 24]> = std::sync::LazyLock::new(|| {
        let mut bytes = [0; 24];
        SysRng
            .try_fill_bytes(&mut bytes)
            .expect("the operating system provides randomness");
        bytes
    });
    let mut bytes = [0; 32];
    bytes[..24].copy_from_slice(&*RUN);
    bytes[24..].copy_from_slice(&DRAWN.fetch_add(1, Ordering::Relaxed).to_be_bytes());
    URL_SAFE_NO_PAD.encode(bytes)
}

/// The SHA-256 digest of `text` in base64url: a challenge, or a stored secret.
pub(crate) fn digest(text: &str) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(text))
}
