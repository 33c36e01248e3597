//! One seed, from which everything that a run decides by chance is drawn. What
//! the operating system and the disk decide is not in it.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rand::rngs::StdRng;
use rand::{Rng as _, RngExt as _, SeedableRng as _};
use sha2::{Digest as _, Sha256};

/// A source of decisions.
pub(crate) struct Chance(StdRng);

/// A seed that nobody chose.
pub(crate) fn any_seed() -> u64 {
    let [a, b, c, d, ..] = broker::random::bytes32();
    u32::from_be_bytes([a, b, c, d]).into()
}

impl Chance {
    /// The decisions of the `index`th part of the run that `seed` names.
    pub(crate) fn of(seed: u64, index: u64) -> Self {
        Self(StdRng::seed_from_u64(
            seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(index),
        ))
    }

    /// Another source, drawn from this one, for what happens at the same time.
    pub(crate) fn apart(&mut self) -> Self {
        Self(StdRng::from_rng(&mut self.0))
    }

    /// A number from 0 to `end`, which is not among them.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0.random_range(0..end)
    }

    /// One of two.
    pub(crate) fn coin(&mut self) -> bool {
        self.below(2) == 0
    }

    /// 43 characters of base64url: a session key, a state or a verifier.
    pub(crate) fn secret(&mut self) -> String {
        let mut bytes = [0; 32];
        self.0.fill_bytes(&mut bytes);
        URL_SAFE_NO_PAD.encode(bytes)
    }
}

/// What S256 makes of a verifier, and the configuration of a client secret.
pub(crate) fn digest(text: &str) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(text))
}
