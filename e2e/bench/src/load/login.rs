//! The kinds of logins.

use std::fmt;
use std::str::FromStr;

pub(crate) const CLIENT_ID: &str = "bench";
pub(crate) const CLIENT_SECRET: &str = "the secret of the bench";
/// The consumer's callback; nothing listens there.
pub(crate) const CALLBACK: &str = "http://127.0.0.1:9/home";

/// A flow of the specification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flow {
    Clean,
    Legacy,
}

/// A provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Provider {
    Google,
    GitHub,
}

/// The kind of a login.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Login {
    pub(crate) flow: Flow,
    pub(crate) provider: Provider,
}

impl Login {
    pub(crate) const CLEAN_GITHUB: Self = Self::of(Flow::Clean, Provider::GitHub);
    pub(crate) const CLEAN_GOOGLE: Self = Self::of(Flow::Clean, Provider::Google);

    /// Every kind.
    pub(crate) const ALL: [Self; 4] = [
        Self::CLEAN_GITHUB,
        Self::of(Flow::Legacy, Provider::GitHub),
        Self::CLEAN_GOOGLE,
        Self::of(Flow::Legacy, Provider::Google),
    ];

    const fn of(flow: Flow, provider: Provider) -> Self {
        Self { flow, provider }
    }
}

impl fmt::Display for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let flow = match self.flow {
            Flow::Clean => "clean",
            Flow::Legacy => "legacy",
        };
        let provider = match self.provider {
            Provider::Google => "Google",
            Provider::GitHub => "GitHub",
        };
        write!(f, "{flow}, {provider}")
    }
}

impl FromStr for Login {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|it| it.to_string() == text);
        found.ok_or_else(|| {
            let all = Self::ALL.map(|it| format!("{it:?}", it = it.to_string()));
            format!("there are {}", all.join(", "))
        })
    }
}

impl Provider {
    /// Its id in requests and paths.
    pub(super) fn id(self) -> &'static str {
        match self {
            Self::Google => "google",
            Self::GitHub => "github",
        }
    }
}
