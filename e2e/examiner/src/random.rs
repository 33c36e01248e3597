//! Random values: names that occur nowhere else, and secrets that an attacker makes up.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rand::TryRng as _;
use rand::rngs::SysRng;

/// 32 random bytes as 43 characters of base64url: what an attacker guesses for a key.
pub(crate) fn secret() -> String {
    URL_SAFE_NO_PAD.encode(bytes::<32>())
}

/// Eight random lower-case letters, without a vowel, so that they are no word.
pub(crate) fn letters() -> String {
    const LETTERS: &[u8; 20] = b"bcdfghjklmnpqrstvwxz";
    let pick = |byte: u8| char::from(LETTERS[usize::from(byte) % LETTERS.len()]);
    bytes::<8>().map(pick).iter().collect()
}

/// Twelve random digits, the first of which is no zero.
pub(crate) fn digits() -> String {
    let drawn = bytes::<12>().map(|byte| char::from(b'0' + byte % 10));
    let drawn: String = drawn.iter().collect();
    format!("7{}", &drawn[1..])
}

/// # Panics
///
/// If the operating system has no randomness to give.
fn bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    SysRng
        .try_fill_bytes(&mut bytes)
        .expect("the operating system provides randomness");
    bytes
}
