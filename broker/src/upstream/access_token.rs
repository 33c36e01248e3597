//! A provider's access token: used for the calls of one sign-in, and never stored.

use std::fmt;

use serde::Deserialize;

/// The maximum length of a token, in bytes; Google documents that its are shorter.
const MAX_BYTES: usize = 2048;

/// A bearer token of a provider, valid in a header. `Debug` is redacted.
#[derive(Deserialize)]
#[serde(try_from = "String")]
pub(super) struct AccessToken(String);

/// A text is not a bearer token.
#[derive(Debug, thiserror::Error)]
#[error("not a bearer token")]
pub(super) struct InvalidToken;

impl AccessToken {
    pub(super) fn expose(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for AccessToken {
    type Error = InvalidToken;

    fn try_from(text: String) -> Result<Self, InvalidToken> {
        let fits = (1..=MAX_BYTES).contains(&text.len());
        if fits && text.bytes().all(|byte| byte.is_ascii_graphic()) {
            Ok(Self(text))
        } else {
            Err(InvalidToken)
        }
    }
}

impl fmt::Debug for AccessToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AccessToken([redacted])")
    }
}
