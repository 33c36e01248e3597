//! The legacy flow on the wire: `state`, PKCE and the spec's `Transaction`, which the consumer keeps
//! in the initiating session and the service never sees (SPEC, Transaction and Limits; RFC 7636
//! for S256); and the exchange of the code for a token (SPEC, TokenRequest and TokenResponse).

use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq as _;

use crate::address::RedirectUri;
use crate::answer::{LoginLifetime, TokenLifetime};
use crate::credentials::{ClientSecret, PresentedClientId};
use crate::rules::{Malformed, Rule};
use crate::text::{
    Digest, has_length, is_base64url, is_key_text, key_text, public_text, secret_text,
};

secret_text! {
    /// The consumer's `state`: 43 characters of `[A-Za-z0-9_-]`, fresh per login.
    #[derive(Clone)]
    State, Rule::StatePattern, is_key_text
}

secret_text! {
    /// The PKCE verifier: 43 to 128 characters of `[A-Za-z0-9._~-]`, known only to the
    /// consumer's backend until it redeems the code.
    CodeVerifier, Rule::CodeVerifierPattern, |text| {
        (43..=128).contains(&text.len())
            && text.bytes().all(|byte| is_base64url(byte) || matches!(byte, b'.' | b'~'))
    }
}

public_text! {
    /// The PKCE challenge: base64url of the verifier's SHA-256 (method `S256`).
    CodeChallenge, Rule::CodeChallengePattern, is_key_text
}

impl State {
    /// Makes a state from 32 random bytes.
    pub fn from_random(bytes: &[u8; 32]) -> Self {
        Self(key_text(bytes).into())
    }

    /// Compares in constant time.
    pub fn matches(&self, other: &State) -> bool {
        self.expose()
            .as_bytes()
            .ct_eq(other.expose().as_bytes())
            .into()
    }
}

impl CodeVerifier {
    /// Makes a 43-character verifier from 32 random bytes.
    pub fn from_random(bytes: &[u8; 32]) -> Self {
        Self(key_text(bytes).into())
    }

    /// The `S256` challenge of this verifier.
    pub fn challenge(&self) -> CodeChallenge {
        CodeChallenge(key_text(Digest::of(self.expose().as_bytes()).as_bytes()))
    }
}

/// One legacy login in flight. The consumer's server keeps it, and the first callback
/// that matches consumes it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Transaction {
    /// The state in the authorize URL, compared with the callback's.
    pub state: State,
    /// The PKCE verifier, secret until the code is redeemed.
    pub code_verifier: CodeVerifier,
    /// The verifier's S256, in the authorize URL.
    pub code_challenge: CodeChallenge,
    // The spec does not give the unit of these two; we use Unix seconds, like
    // every other time in this family of protocols.
    /// The start of the login, in Unix seconds.
    pub created_at: i64,
    /// The end of the transaction, in Unix seconds: 600 after `created_at`.
    pub expires_at: i64,
}

impl Transaction {
    /// Starts a transaction at `now` (Unix seconds).
    pub fn begin(state: State, code_verifier: CodeVerifier, now: i64) -> Self {
        Self {
            state,
            code_challenge: code_verifier.challenge(),
            code_verifier,
            created_at: now,
            expires_at: now + i64::from(LoginLifetime::SECONDS),
        }
    }

    /// Whether the transaction accepts a callback at `now` (Unix seconds).
    pub fn is_live(&self, now: i64) -> bool {
        now < self.expires_at
    }
}

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
