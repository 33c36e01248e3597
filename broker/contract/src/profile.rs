//! The two upstream providers and their status in a deployment, and the profile of a user who signed in
//! with one (SPEC, Provider, ProviderStatus and Profile).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::rules::{Malformed, Rule};
use crate::text::Digest;

/// An upstream identity provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "&'static str")]
pub enum Provider {
    /// Google, over OpenID Connect.
    Google,
    /// GitHub, over OAuth 2.0 and its REST API.
    GitHub,
}

impl Provider {
    /// Both providers, in the order in which they are listed everywhere.
    pub const ALL: [Provider; 2] = [Provider::Google, Provider::GitHub];

    /// The identifier on the wire: `google` or `github`.
    pub fn as_str(self) -> &'static str {
        match self {
            Provider::Google => "google",
            Provider::GitHub => "github",
        }
    }

    /// The name for display.
    pub fn display_name(self) -> &'static str {
        match self {
            Provider::Google => "Google",
            Provider::GitHub => "GitHub",
        }
    }
}

impl fmt::Display for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Provider {
    type Err = Malformed;

    fn from_str(text: &str) -> Result<Self, Malformed> {
        Provider::ALL
            .into_iter()
            .find(|provider| provider.as_str() == text)
            .ok_or(Malformed(Rule::ProviderKnown))
    }
}

crate::parsed!(Provider);

impl From<Provider> for &'static str {
    fn from(provider: Provider) -> &'static str {
        provider.as_str()
    }
}

/// One element of `GET /api/providers`: deployment-wide, not a project's rights.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProviderStatus {
    /// The provider.
    pub id: Provider,
    /// Whether the deployment has credentials for the provider.
    pub configured: bool,
    /// Whether the operator has enabled the provider.
    pub enabled: bool,
    /// Whether sign-ins through the provider are expected to work now.
    pub available: bool,
}

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

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
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
