//! What a consumer keeps in the initiating session while a legacy login is
//! under way (SPEC, Transaction). The service never sees it.

use serde::{Deserialize, Serialize};

use crate::lifetime::LoginLifetime;
use crate::pkce::{CodeChallenge, CodeVerifier, State};

/// One legacy login in flight. Kept on the server, consumed by the first
/// callback that matches it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Transaction {
    /// Sent with the browser, and compared when it comes back.
    pub state: State,
    /// Stays here until the code is redeemed.
    pub code_verifier: CodeVerifier,
    /// Sent with the browser: the verifier's S256.
    pub code_challenge: CodeChallenge,
    // The spec does not give the unit of these two; we use Unix seconds, like
    // every other time in this family of protocols.
    /// When the login began, in Unix seconds.
    pub created_at: i64,
    /// When it is too late, in Unix seconds: 600 after `created_at`.
    pub expires_at: i64,
}

impl Transaction {
    /// Begins a transaction at `now` (Unix seconds).
    pub fn begin(state: State, code_verifier: CodeVerifier, now: i64) -> Self {
        Self {
            state,
            code_challenge: code_verifier.challenge(),
            code_verifier,
            created_at: now,
            expires_at: now + i64::from(LoginLifetime::SECONDS),
        }
    }

    /// Whether a callback at `now` (Unix seconds) still counts.
    pub fn is_live(&self, now: i64) -> bool {
        now < self.expires_at
    }
}
