//! Newtypes over bounded strings: the checks, two macros that attach a check to a type, and
//! SHA-256, the only form in which a secret is stored or compared.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use crate::rules::{Malformed, Rule};

/// Whether `text` has between `min` and `max` characters (code points, as JSON
/// Schema counts them, not bytes).
pub(crate) fn has_length(text: &str, min: usize, max: usize) -> bool {
    (min..=max).contains(&text.chars().count())
}

/// Whether `text` is exactly 43 characters of `[A-Za-z0-9_-]`, the length of 32 bytes
/// in base64url. This is a pattern only: the value is never decoded, so a last
/// character that no encoder would write passes, as it does in the schema.
pub(crate) fn is_key_text(text: &str) -> bool {
    text.len() == 43 && text.bytes().all(is_base64url)
}

/// Whether `byte` belongs to the base64url alphabet.
pub(crate) fn is_base64url(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')
}

/// 32 bytes as the 43 characters that [`is_key_text`] accepts.
pub(crate) fn key_text(bytes: &[u8; 32]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// 32 bytes of SHA-256. Equality takes constant time.
///
/// All secrets of the broker are 256-bit random values, so a fast hash suffices: there is
/// nothing to guess that a slow one would protect.
#[derive(Clone, Copy, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Digest([u8; 32]);

impl Digest {
    /// Hashes `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// Hashes `bytes` for one `purpose`, so that the same secret used for two
    /// things yields two unrelated values.
    pub fn derive(purpose: &str, bytes: &[u8]) -> Self {
        let mut hash = Sha256::new();
        hash.update(purpose.as_bytes());
        hash.update([0x1F]);
        hash.update(bytes);
        Self(hash.finalize().into())
    }

    /// The bytes, for a database column.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// A digest read back from 32 stored bytes.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// 43 characters of base64url, the form used in configuration and cookies.
    pub fn to_text(&self) -> String {
        URL_SAFE_NO_PAD.encode(self.0)
    }
}

impl std::str::FromStr for Digest {
    type Err = Malformed;

    fn from_str(text: &str) -> Result<Self, Malformed> {
        let bytes = URL_SAFE_NO_PAD.decode(text).ok();
        let bytes = bytes.and_then(|it| it.try_into().ok());
        bytes.map(Self).ok_or(Malformed(Rule::DigestText))
    }
}

crate::parsed!(Digest);

impl PartialEq for Digest {
    fn eq(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl std::fmt::Debug for Digest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Digest(…)")
    }
}

/// A newtype over a string that is no secret.
macro_rules! public_text {
    ($(#[$doc:meta])* $name:ident, $rule:expr, $check:expr) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// The text, as it crosses the wire.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = $crate::rules::Malformed;

            fn try_from(text: String) -> Result<Self, Self::Error> {
                let check: fn(&str) -> bool = $check;
                if check(&text) { Ok(Self(text)) } else { Err($crate::rules::Malformed($rule)) }
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::rules::Malformed;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Self::try_from(text.to_owned())
            }
        }

        impl From<$name> for String {
            fn from(value: $name) -> String {
                value.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

/// A newtype over a secret string: `Debug` is redacted, there is no `Display`, and
/// the memory is wiped when it is dropped. A secret that may be used more than once
/// derives `Clone` itself.
macro_rules! secret_text {
    ($(#[$doc:meta])* $name:ident, $rule:expr, $check:expr) => {
        $(#[$doc])*
        #[derive(serde::Deserialize)]
        #[serde(try_from = "String")]
        pub struct $name(zeroize::Zeroizing<String>);

        impl $name {
            /// The text, for the wire only: never store it.
            pub fn expose(&self) -> &str {
                &self.0
            }

            /// SHA-256 of the text: the form in which it may be stored and compared.
            pub fn digest(&self) -> $crate::text::Digest {
                $crate::text::Digest::of(self.0.as_bytes())
            }
        }

        impl TryFrom<String> for $name {
            type Error = $crate::rules::Malformed;

            fn try_from(text: String) -> Result<Self, Self::Error> {
                let check: fn(&str) -> bool = $check;
                let text = zeroize::Zeroizing::new(text);
                if check(&text) { Ok(Self(text)) } else { Err($crate::rules::Malformed($rule)) }
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::rules::Malformed;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Self::try_from(text.to_owned())
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.expose())
            }
        }

        $crate::redacted!($name);
    };
}

pub(crate) use {public_text, secret_text};
