//! The addresses that browsers are sent to: a registered callback, and the URL of a
//! login session (SPEC, RedirectUri and LoginSessionResponse).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize, Serializer};
use url::Url;

use crate::digest::Digest;
use crate::origin::Origin;
use crate::rules::{Malformed, Rule};
use crate::uri::{advice, callback_shaped, is_canonical};

pub use crate::uri::MAX_CHARS;

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

impl TryFrom<String> for RedirectUri {
    type Error = Malformed;

    fn try_from(text: String) -> Result<Self, Malformed> {
        text.parse()
    }
}

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

impl TryFrom<String> for AuthorizationUrl {
    type Error = Malformed;

    fn try_from(text: String) -> Result<Self, Malformed> {
        text.parse()
    }
}

impl Serialize for AuthorizationUrl {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

crate::redacted!(AuthorizationUrl);
