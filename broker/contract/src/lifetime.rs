//! The constants of `expires_in`, as types that hold no other number. A handoff code
//! has no `expires_in`: its lifetime is the broker's, in `model/grant.rs`.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// An `expires_in` that is always `SECONDS`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Lifetime<const SECONDS: u32>;

/// A login session lives 600 seconds (SPEC, Limits).
pub type LoginLifetime = Lifetime<600>;

/// An access token lives 900 seconds (SPEC, Limits).
pub type TokenLifetime = Lifetime<900>;

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
