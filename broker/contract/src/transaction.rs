//! The consumer's state of a legacy login, kept in the initiating session (SPEC,
//! Transaction). The service never sees it.

use serde::{Deserialize, Serialize};

use crate::lifetime::LoginLifetime;
use crate::pkce::{CodeChallenge, CodeVerifier, State};

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
