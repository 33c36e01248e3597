//! The access token, and the answer that brings it.

use contract::{Scope, TokenLifetime, TokenType};
use serde::Deserialize;

/// The answer of `POST /v1/token`: one value, and three constants as types that
/// parse from nothing else. (The contract's own type fixes the token's prefix.)
#[derive(Deserialize)]
pub(super) struct TokenAnswer {
    pub(super) access_token: BearerToken,
    pub(super) token_type: TokenType,
    pub(super) expires_in: TokenLifetime,
    pub(super) scope: Scope,
}

/// The access token: a prefix, an underscore and 43 characters of
/// `[A-Za-z0-9_-]`.
///
/// The specification fixes the prefix and doesn't show it. This application is
/// meant for any broker, so it accepts any prefix that a header can carry.
#[derive(Clone, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct BearerToken(String);

impl BearerToken {
    /// The text, for the `Authorization` header.
    pub(super) fn expose(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for BearerToken {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        let bytes = text.as_bytes();
        match bytes.len().checked_sub(44) {
            Some(prefix @ 1..) if bytes[prefix] == b'_' && bytes.iter().copied().all(is_plain) => {
                Ok(Self(text))
            }
            _ => Err("an access token is a prefix, an underscore and 43 characters"),
        }
    }
}
