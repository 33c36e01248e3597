//! The constants of `expires_in`, as types that hold no other number.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::rules::{LOGIN_LIFETIME_SECONDS, TOKEN_LIFETIME_SECONDS};

/// An `expires_in` that is always `SECONDS`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Lifetime<const SECONDS: u32>;

/// The lifetime of a login session (SPEC, Limits).
pub type LoginLifetime = Lifetime<LOGIN_LIFETIME_SECONDS>;

/// The lifetime of an access token (SPEC, Limits).
pub type TokenLifetime = Lifetime<TOKEN_LIFETIME_SECONDS>;

impl<const SECONDS: u32> Lifetime<SECONDS> {
    /// The lifetime in whole seconds.
    pub const SECONDS: u32 = SECONDS;
    /// The lifetime in milliseconds.
    pub const MS: i64 = SECONDS as i64 * 1000;
}

impl<const SECONDS: u32> Serialize for Lifetime<SECONDS> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u32(SECONDS)
    }
}

impl<'de, const SECONDS: u32> Deserialize<'de> for Lifetime<SECONDS> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match u32::deserialize(deserializer)? {
            seconds if seconds == SECONDS => Ok(Self),
            _ => Err(de::Error::custom(format_args!(
                "expires_in is always {SECONDS}"
            ))),
        }
    }
}
