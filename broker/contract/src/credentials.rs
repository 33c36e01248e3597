//! The credentials of a client and the key of a login: `client_id`, `client_secret`,
//! `session_key` (SPEC, Resources and Limits).

use crate::rules::Rule;
use crate::text::{has_length, is_key_text, key_text, public_text, secret_text};

public_text! {
    /// A project's identifier, 1 to 100 characters. Not a secret.
    ClientId, Rule::ClientIdLength, |text| has_length(text, 1, 100)
}

public_text! {
    /// A client id as a token request may present it: at most 100 characters.
    ///
    /// The table of TokenRequest gives no minimum, so an empty one is well formed
    /// there, and belongs to no project.
    PresentedClientId, Rule::ClientIdLength, |text| has_length(text, 0, 100)
}

secret_text! {
    /// A project's secret, 1 to 200 characters. Never in a URL.
    #[derive(Clone)]
    ClientSecret, Rule::ClientSecretLength, |text| has_length(text, 1, 200)
}

secret_text! {
    /// The key under which a backend starts a login and reads its result: 43
    /// characters of `[A-Za-z0-9_-]`, 32 random bytes in base64url. Never in a URL.
    #[derive(Clone)]
    SessionKey, Rule::SessionKeyPattern, is_key_text
}

/// The public secret of the kit's own development project. A broker that is reachable
/// from other machines must refuse it.
pub const DEVELOPMENT_SECRET: &str = "development-secret-known-to-everybody";

impl ClientSecret {
    /// Makes a 256-bit secret from 32 random bytes.
    pub fn from_random(bytes: &[u8; 32]) -> Self {
        Self(key_text(bytes).into())
    }
}

impl SessionKey {
    /// Makes a key from 32 random bytes, drawn for this login.
    pub fn from_random(bytes: &[u8; 32]) -> Self {
        Self(key_text(bytes).into())
    }
}
