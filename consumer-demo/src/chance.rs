//! Randomness: the one place that draws secrets.

/// 32 bytes from a cryptographically secure generator: 256 bits, which nobody
/// guesses. Session keys, states, verifiers and session ids are all made of it,
/// each from a draw of its own.
///
/// When you copy this into another language: `secrets.token_bytes(32)`,
/// `crypto.randomBytes(32)`, `SecureRandom`. Never a seeded or "fast" generator.
pub(crate) fn bytes() -> [u8; 32] {
    let mut bytes = [0; 32];
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place that draws secrets"
    )]
    rand::fill(&mut bytes);
    bytes
}
