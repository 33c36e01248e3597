//! The ways in which a provider can misbehave, by name.
//!
//! The module `table` lists them all; the page, the control API and the Rust handle read
//! it. Each one is carried out where the good response is made, or in `provider::corrupt`
//! if both providers misbehave alike.

mod description;
mod ending;
mod table;

use std::sync::LazyLock;

pub use table::{Group, Misbehaviour};

use crate::Provider;
pub(crate) use ending::Ending;

/// A name that is not a misbehaviour of this provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownMisbehaviour(Provider);

impl Misbehaviour {
    /// The misbehaviours of `provider`, in the order of its page.
    #[must_use]
    pub fn of(provider: Provider) -> &'static [Self] {
        static GOOGLE: LazyLock<Vec<Misbehaviour>> =
            LazyLock::new(|| Misbehaviour::all_at(Provider::Google));
        static GITHUB: LazyLock<Vec<Misbehaviour>> =
            LazyLock::new(|| Misbehaviour::all_at(Provider::GitHub));
        match provider {
            Provider::Google => &GOOGLE,
            Provider::GitHub => &GITHUB,
        }
    }

    /// The misbehaviour of `provider` with this name.
    ///
    /// # Errors
    ///
    /// Fails if there is none; the error lists the names that there are.
    pub fn parse(provider: Provider, name: &str) -> Result<Self, UnknownMisbehaviour> {
        Self::of(provider)
            .iter()
            .copied()
            .find(|known| known.name() == name)
            .ok_or(UnknownMisbehaviour(provider))
    }

    /// The name in the control API and on the page.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// The part of the sign-in that goes wrong.
    #[must_use]
    pub fn group(self) -> Group {
        self.row().group
    }

    /// A sentence that says what `provider` sends; empty if it has no such misbehaviour.
    #[must_use]
    pub fn description(self, provider: Provider) -> &'static str {
        self.row().description.at(provider).unwrap_or_default()
    }

    /// The error that the login must end with, a value of `LoginResult.error`; `None` if
    /// it must succeed with a clean profile.
    #[must_use]
    pub fn error(self) -> Option<&'static str> {
        self.row().error
    }

    /// The misbehaviours of `provider` that end a login with `error`, by group, without
    /// empty groups.
    pub(crate) fn ending_with(
        provider: Provider,
        error: Option<&'static str>,
    ) -> Vec<(Group, Vec<Self>)> {
        let of_group = |group| {
            let all = Self::of(provider).iter().copied();
            let is_of_both = |known: &Self| known.group() == group && known.error() == error;
            all.filter(is_of_both).collect()
        };
        Group::ALL
            .iter()
            .map(|&group| (group, of_group(group)))
            .filter(|(_, known): &(_, Vec<_>)| !known.is_empty())
            .collect()
    }

    /// The misbehaviours of `provider` that its page offers first, with their captions.
    pub(crate) fn common(provider: Provider) -> &'static [(&'static str, Self)] {
        match provider {
            Provider::Google => &[
                ("Provider down", Self::Token503),
                ("No answer", Self::Timeout),
                ("Rate limit", Self::RateLimited),
                ("Forged ID token", Self::BadSignature),
                ("Wrong nonce", Self::WrongNonce),
                ("Odd name", Self::NameBidi),
            ],
            Provider::GitHub => &[
                ("Provider down", Self::Token503),
                ("No answer", Self::Timeout),
                ("Rate limit", Self::RateLimited),
                ("Code refused", Self::TokenRefused),
                ("Wrong issuer", Self::WrongCallbackIssuer),
                ("Odd name", Self::NameBidi),
            ],
        }
    }

    fn all_at(provider: Provider) -> Vec<Self> {
        let exists = |known: &Self| known.row().description.at(provider).is_some();
        Self::ALL.iter().copied().filter(exists).collect()
    }
}

impl std::error::Error for UnknownMisbehaviour {}

impl std::fmt::Display for UnknownMisbehaviour {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<_> = Misbehaviour::of(self.0)
            .iter()
            .map(|known| known.name())
            .collect();
        write!(f, "{} can misbehave as: {}", self.0, names.join(", "))
    }
}
