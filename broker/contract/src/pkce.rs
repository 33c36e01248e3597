//! The spec's `Transaction`, and its parts: `state`, `code_verifier` and `code_challenge` of
//! the legacy flow (SPEC, Transaction and Limits; RFC 7636 for S256). The consumer keeps a
//! transaction in the initiating session; the service never sees one.

use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq as _;

use crate::answer::LoginLifetime;
use crate::digest::Digest;
use crate::rules::Rule;
use crate::text::{is_base64url, is_key_text, key_text, public_text, secret_text};

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
