//! The normalized identity (SPEC, Profile).

use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::provider::Provider;

/// The stable account key, on which a consumer keys its accounts.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Subject(String);

impl Subject {
    // The spec does not define the form of a subject; we derive it from the
    // provider's own key alone, because then it needs no secret, survives a
    // lost database and is the same on every replica.
    /// The subject of the user with the key `provider_subject` at `provider`: `sub_`
    /// and 43 characters of base64url.
    pub fn of(provider: Provider, provider_subject: &str) -> Self {
        let digest = Digest::derive(provider.as_str(), provider_subject.as_bytes());
        Self(format!("sub_{}", digest.to_text()))
    }

    /// The text, as it crosses the wire.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for Subject {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// The user who signed in, in one shape for both providers. Every field is always
/// present; `null` is a legitimate value where the type is an `Option`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Profile {
    /// The account key. Not the e-mail address: two users may share one.
    pub subject: Subject,
    /// The provider that authenticated the user.
    pub provider: Provider,
    /// The provider's own key: Google's `sub`, GitHub's numeric `id` as text.
    pub provider_subject: String,
    /// The user's display name.
    #[serde(deserialize_with = "Option::deserialize")]
    pub name: Option<String>,
    /// GitHub's login; Google has none.
    #[serde(deserialize_with = "Option::deserialize")]
    pub username: Option<String>,
    /// The e-mail address; trustworthy only with `email_verified`.
    #[serde(deserialize_with = "Option::deserialize")]
    pub email: Option<String>,
    /// Whether the provider has verified `email`.
    pub email_verified: bool,
    /// The `https` URL of a picture.
    #[serde(deserialize_with = "Option::deserialize")]
    pub avatar_url: Option<String>,
}
