//! The legacy flow's exchange on the wire (SPEC, TokenRequest and TokenResponse).

use serde::{Deserialize, Serialize};

use crate::answer::TokenLifetime;
use crate::credentials::{ClientSecret, PresentedClientId};
use crate::pkce::CodeVerifier;
use crate::redirect_uri::RedirectUri;
use crate::rules::{Malformed, Rule};
use crate::text::{has_length, is_key_text, key_text, secret_text};

// The spec fixes a prefix and does not show it; this is the kit's.
const TOKEN_PREFIX: &str = "fsi_";

secret_text! {
    /// The single-use code that the legacy callback carries: 1 to 200 characters.
    HandoffCode, Rule::CodeLength, |text| has_length(text, 1, 200)
}

secret_text! {
    /// The bearer token of the legacy flow: `fsi_` and 43 characters of
    /// `[A-Za-z0-9_-]`.
    AccessToken, Rule::BearerShape, |text| {
        text.strip_prefix(TOKEN_PREFIX).is_some_and(is_key_text)
    }
}

impl HandoffCode {
    /// Makes a 43-character code from 32 random bytes.
    pub fn from_random(bytes: &[u8; 32]) -> Self {
        Self(key_text(bytes).into())
    }
}

impl AccessToken {
    /// Makes a token from 32 random bytes.
    pub fn from_random(bytes: &[u8; 32]) -> Self {
        Self(format!("{TOKEN_PREFIX}{}", key_text(bytes)).into())
    }
}

/// The body of `POST /v1/token`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenRequest {
    /// Always `authorization_code`.
    pub grant_type: GrantType,
    /// The project; an empty id is well formed here, and belongs to no project.
    pub client_id: PresentedClientId,
    /// The project's secret.
    pub client_secret: ClientSecret,
    /// The code from the callback.
    pub code: HandoffCode,
    /// The callback that received the code.
    pub redirect_uri: RedirectUri,
    /// The verifier of the challenge in the authorize URL.
    pub code_verifier: CodeVerifier,
}

/// The only grant type of this service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "&'static str")]
pub enum GrantType {
    /// `authorization_code`.
    AuthorizationCode,
}

impl TryFrom<String> for GrantType {
    type Error = Malformed;

    fn try_from(text: String) -> Result<Self, Malformed> {
        match text.as_str() {
            "authorization_code" => Ok(GrantType::AuthorizationCode),
            _ => Err(Malformed(Rule::GrantTypeConstant)),
        }
    }
}

impl From<GrantType> for &'static str {
    fn from(_: GrantType) -> &'static str {
        "authorization_code"
    }
}

/// The response to a [`TokenRequest`].
#[derive(Debug, Serialize, Deserialize)]
pub struct TokenResponse {
    /// The bearer token, shown only once.
    pub access_token: AccessToken,
    /// Always `Bearer`.
    pub token_type: TokenType,
    /// Always 900 seconds.
    pub expires_in: TokenLifetime,
    /// Always `profile`.
    pub scope: Scope,
}

impl TokenResponse {
    /// The response that issues `access_token`; its other members are constants.
    pub fn issuing(access_token: AccessToken) -> Self {
        Self {
            access_token,
            token_type: TokenType::Bearer,
            expires_in: TokenLifetime {},
            scope: Scope::Profile,
        }
    }
}

/// The constant `Bearer`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum TokenType {
    /// `Bearer`.
    Bearer,
}

/// The constant `profile`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// `profile`.
    Profile,
}
