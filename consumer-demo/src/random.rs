//! Randomness: the one module that draws secrets.

/// Draws 32 bytes from a cryptographically secure generator: 256 bits, too many to
/// guess. Session keys, states, verifiers and cookies are all made of them, each
/// from a draw of its own.
///
/// In other languages: `secrets.token_bytes(32)`, `crypto.randomBytes(32)`,
/// `SecureRandom`. Never a seeded or "fast" generator.
pub(crate) fn bytes() -> [u8; 32] {
    let mut bytes = [0; 32];
    #[expect(
        clippy::disallowed_methods,
        reason = "the one module that draws secrets"
    )]
    rand::fill(&mut bytes);
    bytes
}
