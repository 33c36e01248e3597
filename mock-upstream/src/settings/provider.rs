//! The two providers and their names.

use std::fmt;
use std::str::FromStr;

/// One of the two imitated providers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Provider {
    /// Google: OpenID Connect, with ID tokens.
    Google,
    /// GitHub: OAuth 2.0, with a REST API and no ID tokens.
    GitHub,
}

/// A name that is neither `google` nor `github`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a provider is `google` or `github`")]
pub struct UnknownProvider;

impl Provider {
    /// Both providers, in the order in which the project lists them.
    pub const ALL: [Self; 2] = [Self::Google, Self::GitHub];

    /// The name in addresses and configuration.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Google => "google",
            Self::GitHub => "github",
        }
    }

    /// The name as the provider writes it.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Google => "Google",
            Self::GitHub => "GitHub",
        }
    }
}

impl fmt::Display for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.title())
    }
}

impl FromStr for Provider {
    type Err = UnknownProvider;

    fn from_str(name: &str) -> Result<Self, UnknownProvider> {
        Self::ALL
            .into_iter()
            .find(|provider| provider.name() == name)
            .ok_or(UnknownProvider)
    }
}
