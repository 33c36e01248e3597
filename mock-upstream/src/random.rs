//! Random strings for codes, tokens and handles: the only source of randomness.

use rand::seq::IndexedRandom;

const ALPHANUMERIC: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const URL_SAFE: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const LOWER_HEX: &[u8] = b"0123456789abcdef";

/// `length` letters and digits.
pub(crate) fn alphanumeric(length: usize) -> String {
    random_string(ALPHANUMERIC, length)
}

/// `length` characters of the URL-safe base64 alphabet.
pub(crate) fn url_safe(length: usize) -> String {
    random_string(URL_SAFE, length)
}

/// `length` lower-case hexadecimal digits.
pub(crate) fn lower_hex(length: usize) -> String {
    random_string(LOWER_HEX, length)
}

#[expect(
    clippy::disallowed_methods,
    reason = "every other module takes its random strings from here"
)]
fn random_string(alphabet: &[u8], length: usize) -> String {
    let mut rng = rand::rng();
    std::iter::repeat_with(|| alphabet.choose(&mut rng).expect("no alphabet is empty"))
        .take(length)
        .map(|&letter| char::from(letter))
        .collect()
}
