//! The random value of a cookie, of which the server keeps a digest only.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use contract::Digest;

use crate::random;

/// The value of a cookie: 256 random bits. A client that sends it is taken for the
/// browser that received it.
pub(crate) struct CookieValue(String);

impl CookieValue {
    /// A fresh value.
    pub(crate) fn random() -> Self {
        Self(URL_SAFE_NO_PAD.encode(random::bytes()))
    }

    /// The text, for the cookie.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }

    /// The digest that the server keeps, so that a copy of its memory (or of the
    /// table, or of a backup) opens no session. A plain SHA-256 suffices: 256 random
    /// bits cannot be guessed.
    pub(crate) fn digest(&self) -> ValueDigest {
        ValueDigest(*Digest::of(self.0.as_bytes()).as_bytes())
    }
}

/// SHA-256 of a [`CookieValue`].
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct ValueDigest([u8; 32]);

impl FromStr for CookieValue {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text.len() {
            43 => Ok(Self(text.to_owned())),
            _ => Err(()),
        }
    }
}

impl fmt::Debug for CookieValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CookieValue([redacted])")
    }
}
