//! Random values: secrets, and names that occur nowhere else.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rand::TryRng as _;
use rand::rngs::SysRng;
use sha2::{Digest as _, Sha256};

/// 32 unpredictable bytes as 43 characters of base64url: a session key, a state, a
/// verifier, or what an attacker guesses for one.
pub fn secret() -> String {
    URL_SAFE_NO_PAD.encode(bytes::<32>())
}

/// The S256 challenge of a verifier (RFC 7636).
pub fn challenge(verifier: &str) -> String {
    digest(verifier)
}

/// The SHA-256 digest of a text in base64url, as brokers are configured with that of a
/// client secret.
pub fn digest(text: &str) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(text))
}

/// Eight random lower-case letters, without a vowel, so that they are no word.
pub fn letters() -> String {
    const LETTERS: &[u8; 20] = b"bcdfghjklmnpqrstvwxz";
    let pick = |byte: u8| char::from(LETTERS[usize::from(byte) % LETTERS.len()]);
    bytes::<8>().map(pick).iter().collect()
}

/// Twelve random digits, the first of which is no zero.
pub fn digits() -> String {
    let drawn = bytes::<12>().map(|byte| char::from(b'0' + byte % 10));
    let drawn: String = drawn.iter().collect();
    format!("7{}", &drawn[1..])
}

/// # Panics
///
/// If the operating system has no randomness to give: no login can start then.
fn bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    SysRng
        .try_fill_bytes(&mut bytes)
        .expect("the operating system provides randomness");
    bytes
}
