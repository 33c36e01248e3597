//! The common parts of several endpoints' answers: the one error body (SPEC, ApiError), and the
//! constants of `expires_in`, as types that hold no other number.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::rules::{LOGIN_LIFETIME_SECONDS, TOKEN_LIFETIME_SECONDS};

/// An application error on the wire. It is generic on purpose: the reason goes to the
/// operator's audit log, not to the client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApiError {
    /// The code. Always `request_failed`, the only one in the spec.
    pub error: String,
    /// A sentence for a human reader.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

impl ApiError {
    /// `request_failed` with a generic message.
    pub fn request_failed(message: &str) -> Self {
        Self {
            error: "request_failed".to_owned(),
            message: Some(message.to_owned()),
        }
    }
}

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
