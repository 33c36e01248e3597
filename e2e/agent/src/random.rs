//! Random values: secrets, names that occur nowhere else, and decisions that a seed repeats.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rand::rngs::{StdRng, SysRng};
use rand::{Rng as _, RngExt as _, SeedableRng as _, TryRng as _};
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

/// A seed for a run that was given none.
pub fn any_seed() -> u64 {
    u32::from_be_bytes(bytes()).into()
}

/// A source of decisions.
#[derive(Debug)]
pub struct Random(StdRng);

impl Random {
    /// The decisions of the `index`th part of the run with this seed.
    pub fn of(seed: u64, index: u64) -> Self {
        Self(StdRng::seed_from_u64(
            seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(index),
        ))
    }

    /// Another source, drawn from this one, for what happens at the same time.
    #[must_use]
    pub fn fork(&mut self) -> Self {
        Self(StdRng::from_rng(&mut self.0))
    }

    /// A number below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        self.0.random_range(0..end)
    }

    /// True once in `n` times.
    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// One of the items.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }

    /// 43 characters of base64url: a session key, a state or a verifier.
    pub fn secret(&mut self) -> String {
        let mut bytes = [0; 32];
        self.0.fill_bytes(&mut bytes);
        URL_SAFE_NO_PAD.encode(bytes)
    }
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
