//! Base addresses: a scheme, a host and a port, written canonically.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use url::Url;

use crate::rules::{Malformed, Rule};
use crate::uri::{advice, callback_shaped, is_loopback};

/// The maximum length of an origin, in characters: `https://`, a name of 253
/// (RFC 1035), a port.
const MAX_CHARS: usize = 267;

/// An HTTPS origin, or an HTTP one on loopback: `https://broker.example`,
/// `http://127.0.0.1:8000`. No path, no trailing slash.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Origin {
    text: String,
    loopback: bool,
}

impl Origin {
    /// The text, without a trailing slash.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether the host is this machine: `localhost`, `127.0.0.0/8` or `[::1]`.
    pub fn is_loopback(&self) -> bool {
        self.loopback
    }

    /// Whether the scheme is `https`.
    pub fn is_https(&self) -> bool {
        self.text.starts_with("https:")
    }

    /// The origin of an already checked `url`.
    pub(crate) fn of(url: &Url) -> Self {
        Self {
            text: url.origin().ascii_serialization(),
            loopback: is_loopback(url),
        }
    }
}

impl FromStr for Origin {
    type Err = Malformed;

    fn from_str(text: &str) -> Result<Self, Malformed> {
        let url = Url::parse(text).map_err(|_| Malformed(Rule::OriginShape))?;
        let origin = Origin::of(&url);
        // An authorization URL begins with it, and must be valid.
        let is_base = text.len() <= MAX_CHARS && callback_shaped(text).is_some();
        if origin.text == text && is_base {
            Ok(origin)
        } else {
            Err(Malformed(Rule::OriginShape))
        }
    }
}

impl TryFrom<String> for Origin {
    type Error = String;

    /// The error says what is wrong, and never repeats the text.
    fn try_from(text: String) -> Result<Self, String> {
        let parsed = text.parse();
        parsed.map_err(|error: Malformed| match text.strip_suffix('/') {
            Some(rest) if rest.parse::<Self>().is_ok() => "remove the trailing slash".to_owned(),
            _ => advice(&text).map_or_else(|| error.to_string(), ToOwned::to_owned),
        })
    }
}

impl From<Origin> for String {
    fn from(origin: Origin) -> String {
        origin.text
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
