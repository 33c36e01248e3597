//! PKCE and `state` of the legacy flow: `state`, `code_verifier` and `code_challenge`
//! (SPEC, Transaction and Limits; RFC 7636 for S256).

use subtle::ConstantTimeEq as _;

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
