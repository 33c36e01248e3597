//! The clean callback flow on the wire (SPEC, LoginSessionRequest to LoginResult).

use serde::{Deserialize, Serialize};

use crate::credentials::{ClientId, ClientSecret, SessionKey};
use crate::lifetime::LoginLifetime;
use crate::profile::Profile;
use crate::provider::Provider;
use crate::redirect_uri::{AuthorizationUrl, RedirectUri};

/// The body of `POST /v1/login/session`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoginSessionRequest {
    /// Which project calls.
    pub client_id: ClientId,
    /// Proof that it is that project's backend.
    pub client_secret: ClientSecret,
    /// A fresh key; the result is read under it.
    pub session_key: SessionKey,
    /// Where the person will sign in.
    pub provider: Provider,
    /// Where the browser comes back to: a registered callback.
    pub redirect_uri: RedirectUri,
}

/// The answer to a [`LoginSessionRequest`].
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LoginSessionResponse {
    /// Where to send the browser. It bears the login: keep it out of logs.
    pub authorization_url: AuthorizationUrl,
    /// Always 600 seconds.
    pub expires_in: LoginLifetime,
}

/// The body of `POST /v1/login/result`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoginResultRequest {
    /// Which project calls.
    pub client_id: ClientId,
    /// Proof that it is that project's backend.
    pub client_secret: ClientSecret,
    /// The key that started the login.
    pub session_key: SessionKey,
    /// The callback that the login was started with.
    pub redirect_uri: RedirectUri,
}

/// How a login stands. A terminal one is read once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "lowercase")]
pub enum LoginResult {
    /// The person is still signing in; nothing is consumed.
    Pending,
    /// They did.
    Succeeded {
        /// Who they are.
        profile: Profile,
    },
    /// They did not.
    Failed {
        /// Why, in one of three words.
        error: LoginError,
    },
}

/// Why a login failed. Not an HTTP error: the login ended, just not well.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoginError {
    /// The person said no.
    AccessDenied,
    /// The provider answered something that proves nothing.
    InvalidProviderResponse,
    /// The provider did not answer, or not now.
    ProviderUnavailable,
}

impl LoginError {
    /// All three, in the specification's order.
    pub const ALL: [LoginError; 3] = [
        LoginError::AccessDenied,
        LoginError::InvalidProviderResponse,
        LoginError::ProviderUnavailable,
    ];

    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            LoginError::AccessDenied => "access_denied",
            LoginError::InvalidProviderResponse => "invalid_provider_response",
            LoginError::ProviderUnavailable => "provider_unavailable",
        }
    }
}
