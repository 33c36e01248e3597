//! The only source of randomness: the operating system's generator.

use rand::TryRng as _;
use rand::rngs::SysRng;

/// 32 unpredictable bytes: a 256-bit secret, handle, seed or code.
///
/// # Panics
///
/// If the operating system provides no randomness: no broker can run then.
pub fn bytes32() -> [u8; 32] {
    let mut bytes = [0; 32];
    SysRng
        .try_fill_bytes(&mut bytes)
        .expect("the operating system provides randomness");
    bytes
}
