//! The time and the randomness: no other file reads the system's.

use std::fmt;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use rand::seq::IndexedRandom;

/// The clock by which codes, tokens and ID tokens expire: a source of the time in Unix
/// milliseconds. Clones share the source.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> i64 + Send + Sync>);

impl Clock {
    /// A clock that calls `now_ms` each time it is read.
    pub fn new(now_ms: impl Fn() -> i64 + Send + Sync + 'static) -> Self {
        Self(Arc::new(now_ms))
    }

    /// The system's clock.
    #[must_use]
    pub fn system() -> Self {
        Self::new(system_now_ms)
    }

    /// The time in Unix milliseconds.
    #[must_use]
    pub fn now_ms(&self) -> i64 {
        (self.0)()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "every other module is given a Clock"
)]
fn system_now_ms() -> i64 {
    let since_epoch = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .expect("the system's clock is set to a time after 1970");
    i64::try_from(since_epoch.as_millis()).expect("the year is below 292 million")
}

/// Letters and digits.
pub(crate) const ALPHANUMERIC: &[u8] =
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/// The alphabet of URL-safe base64.
pub(crate) const URL_SAFE: &[u8] =
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// The lower-case hexadecimal digits.
pub(crate) const LOWER_HEX: &[u8] = b"0123456789abcdef";

/// A code, a token or a handle: `length` random letters of `alphabet`.
#[expect(
    clippy::disallowed_methods,
    reason = "every other module takes its random strings from here"
)]
pub(crate) fn random_string(alphabet: &[u8], length: usize) -> String {
    let mut rng = rand::rng();
    std::iter::repeat_with(|| alphabet.choose(&mut rng).expect("no alphabet is empty"))
        .take(length)
        .map(|&letter| char::from(letter))
        .collect()
}
