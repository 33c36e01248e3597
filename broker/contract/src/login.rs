//! The clean callback flow on the wire (SPEC, LoginSessionRequest to LoginResult).

use serde::{Deserialize, Serialize};

use crate::address::{AuthorizationUrl, RedirectUri};
use crate::answer::LoginLifetime;
use crate::credentials::{ClientId, ClientSecret, SessionKey};
use crate::profile::{Profile, Provider};

/// The body of `POST /v1/login/session`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoginSessionRequest {
    /// The project's identifier.
    pub client_id: ClientId,
    /// The project's secret.
    pub client_secret: ClientSecret,
    /// A fresh key, under which the result is read.
    pub session_key: SessionKey,
    /// The provider at which the user signs in.
    pub provider: Provider,
    /// The registered callback to which the browser returns.
    pub redirect_uri: RedirectUri,
}

/// The response to a [`LoginSessionRequest`].
#[derive(Debug, Serialize, Deserialize)]
pub struct LoginSessionResponse {
    /// The address for the browser. It contains the login's handle: keep it out of logs.
    pub authorization_url: AuthorizationUrl,
    /// Always 600 seconds.
    pub expires_in: LoginLifetime,
}

/// The body of `POST /v1/login/result`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoginResultRequest {
    /// The project's identifier.
    pub client_id: ClientId,
    /// The project's secret.
    pub client_secret: ClientSecret,
    /// The key with which the login was started.
    pub session_key: SessionKey,
    /// The callback that the login was started with.
    pub redirect_uri: RedirectUri,
}

/// The state of a login. A terminal result is read once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "lowercase")]
pub enum LoginResult {
    /// The user is still signing in; reading this consumes nothing.
    Pending,
    /// The user signed in.
    Succeeded {
        /// The user's profile.
        profile: Profile,
    },
    /// The user did not sign in.
    Failed {
        /// The reason.
        error: LoginError,
    },
}

/// The reason for which a login failed. Not an HTTP error: the login ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoginError {
    /// The user declined.
    AccessDenied,
    /// The provider's answer proves no identity.
    InvalidProviderResponse,
    /// The provider did not answer, or cannot answer now.
    ProviderUnavailable,
}

impl LoginError {
    /// All errors, in the specification's order.
    pub const ALL: [LoginError; 3] = [
        LoginError::AccessDenied,
        LoginError::InvalidProviderResponse,
        LoginError::ProviderUnavailable,
    ];

    /// The value on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            LoginError::AccessDenied => "access_denied",
            LoginError::InvalidProviderResponse => "invalid_provider_response",
            LoginError::ProviderUnavailable => "provider_unavailable",
        }
    }
}
