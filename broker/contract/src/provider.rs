//! The two upstream providers, and their status in a deployment (SPEC, Provider and
//! ProviderStatus).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::rules::{Malformed, Rule};

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

impl TryFrom<String> for Provider {
    type Error = Malformed;

    fn try_from(text: String) -> Result<Self, Malformed> {
        text.parse()
    }
}

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
