//! A provider's access token: good for one sign-in's questions, and never kept.

use std::fmt;

use serde::Deserialize;

/// Longest token that is taken; Google promises to stay below it.
const MAX_BYTES: usize = 2048;

/// A bearer token of a provider, fit to stand in a header. `Debug` is redacted.
#[derive(Deserialize)]
#[serde(try_from = "String")]
pub(super) struct AccessToken(String);

/// What was sent as a token cannot be one.
#[derive(Debug, thiserror::Error)]
#[error("not a bearer token")]
pub(super) struct NoToken;

impl AccessToken {
    pub(super) fn expose(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for AccessToken {
    type Error = NoToken;

    fn try_from(text: String) -> Result<Self, NoToken> {
        let fits = (1..=MAX_BYTES).contains(&text.len());
        if fits && text.bytes().all(|byte| byte.is_ascii_graphic()) {
            Ok(Self(text))
        } else {
            Err(NoToken)
        }
    }
}

impl fmt::Debug for AccessToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AccessToken([redacted])")
    }
}
