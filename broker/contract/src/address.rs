//! Three kinds of addresses. A base address is a scheme, a host and a port; browsers are sent to a
//! registered callback and to the URL of a login session (SPEC, RedirectUri and LoginSessionResponse).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize, Serializer};
use url::Url;

use crate::rules::{Malformed, Rule};
use crate::text::Digest;
use crate::uri::{advice, callback_shaped, is_canonical, is_loopback};

pub use crate::uri::MAX_CHARS;

/// The maximum length of an origin, in characters: `https://`, a name of 253
/// (RFC 1035), a port.
const MAX_ORIGIN_CHARS: usize = 267;

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
    fn of(url: &Url) -> Self {
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
        let is_base = text.len() <= MAX_ORIGIN_CHARS && callback_shaped(text).is_some();
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

/// A callback: an HTTPS URL, or an HTTP one on loopback, with no credentials,
/// query or fragment. It keeps its text, and equality compares its bytes.
///
/// Only the canonical form is accepted (`https://app.example/cb`, not
/// `HTTPS://app.example:443/x/../cb`): a browser would rewrite any other, and then not
/// return to the *exact* callback.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RedirectUri {
    text: String,
    /// Kept, because every visit needs it and parsing is slow.
    origin: Origin,
}

impl RedirectUri {
    /// The text, unchanged.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Parses the argument of a command. The error says what is wrong with it, and never
    /// repeats it.
    ///
    /// # Errors
    ///
    /// If it is no callback.
    pub fn from_argument(text: &str) -> Result<Self, String> {
        let parsed = text.parse();
        parsed.map_err(|error: Malformed| match advice(text) {
            Some(advice) => advice.to_owned(),
            None => error.to_string(),
        })
    }

    /// The origin of the callback.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// SHA-256 of the text.
    pub fn digest(&self) -> Digest {
        Digest::of(self.text.as_bytes())
    }
}

impl PartialEq for RedirectUri {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for RedirectUri {}

impl FromStr for RedirectUri {
    type Err = Malformed;

    fn from_str(text: &str) -> Result<Self, Malformed> {
        let url = callback_shaped(text).ok_or(Malformed(Rule::RedirectUriShape))?;
        if is_canonical(&url, text) {
            Ok(Self {
                text: text.to_owned(),
                origin: Origin::of(&url),
            })
        } else {
            Err(Malformed(Rule::RedirectUriCanonical))
        }
    }
}

crate::parsed!(RedirectUri);

impl From<RedirectUri> for String {
    fn from(uri: RedirectUri) -> String {
        uri.text
    }
}

impl fmt::Display for RedirectUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The URL that starts the browser's part of a login. Shaped like a [`RedirectUri`].
/// Its path contains the handle of the login, so it is a secret until a browser is
/// bound.
#[derive(Deserialize)]
#[serde(try_from = "String")]
pub struct AuthorizationUrl(String);

impl AuthorizationUrl {
    /// The URL of the login with this handle at the broker `base`. The handle is text in
    /// base64url, which needs no escape.
    pub fn of_handle(base: &Origin, handle: &str) -> Self {
        Self(format!("{base}/login/{handle}"))
    }

    /// The text: for the answer that issues it, and for the browser's redirect.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// The origin of the broker.
    pub fn origin(&self) -> Origin {
        Origin::of(&Url::parse(&self.0).expect("the constructor parsed it"))
    }
}

impl FromStr for AuthorizationUrl {
    type Err = Malformed;

    fn from_str(text: &str) -> Result<Self, Malformed> {
        match callback_shaped(text) {
            Some(url) if is_canonical(&url, text) => Ok(Self(text.to_owned())),
            _ => Err(Malformed(Rule::AuthorizationUrlShape)),
        }
    }
}

crate::parsed!(AuthorizationUrl);

impl Serialize for AuthorizationUrl {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

crate::redacted!(AuthorizationUrl);
