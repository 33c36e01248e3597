//! What may go wrong at a provider, one name each.
//!
//! [`table`] says it all once: the page, the control address and the Rust handle
//! read it there. What each one does is said where the sound answer is made, and
//! in [`spoil`](crate::spoil) for what both providers do alike.

mod table;

use std::sync::LazyLock;

pub use table::{Group, Misbehaviour};

use crate::Provider;
use crate::shelf::Content;

/// What one row of the table says of one misbehaviour.
struct Row {
    name: &'static str,
    group: Group,
    says: Says,
    error: Option<&'static str>,
}

/// What is sent, at each provider that can do it.
struct Says {
    google: Option<&'static str>,
    github: Option<&'static str>,
}

/// A name that is no misbehaviour of the provider in question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownMisbehaviour(Provider);

impl Content for Misbehaviour {
    fn heap_bytes(&self) -> usize {
        0
    }
}

impl Misbehaviour {
    /// What `provider` can do wrong, in the order of its page.
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

    /// The misbehaviour that `provider` knows under `name`.
    ///
    /// # Errors
    ///
    /// When it knows none; the error lists the names that are known.
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

    /// Where it strikes.
    #[must_use]
    pub fn group(self) -> Group {
        self.row().group
    }

    /// What is sent, as a sentence; nothing where `provider` cannot do it.
    #[must_use]
    pub fn says(self, provider: Provider) -> &'static str {
        self.row().says.at(provider).unwrap_or_default()
    }

    /// The error that a login must end with: a value of `LoginResult.error`, or
    /// none if it must succeed all the same, with a clean profile.
    #[must_use]
    pub fn error(self) -> Option<&'static str> {
        self.row().error
    }

    /// Those of `provider`, by where they strike.
    pub(crate) fn grouped(provider: Provider) -> Vec<(Group, Vec<Self>)> {
        let of_group = |group| {
            let all = Self::of(provider).iter().copied();
            all.filter(|known| known.group() == group).collect()
        };
        Group::ALL
            .iter()
            .map(|&group| (group, of_group(group)))
            .filter(|(_, known): &(_, Vec<_>)| !known.is_empty())
            .collect()
    }

    fn all_at(provider: Provider) -> Vec<Self> {
        let can = |known: &Self| known.row().says.at(provider).is_some();
        Self::ALL.iter().copied().filter(can).collect()
    }
}

impl Says {
    const fn both(says: &'static str) -> Self {
        Self::each(says, says)
    }

    const fn each(google: &'static str, github: &'static str) -> Self {
        Self {
            google: Some(google),
            github: Some(github),
        }
    }

    const fn google(says: &'static str) -> Self {
        Self {
            google: Some(says),
            github: None,
        }
    }

    const fn github(says: &'static str) -> Self {
        Self {
            google: None,
            github: Some(says),
        }
    }

    fn at(&self, provider: Provider) -> Option<&'static str> {
        match provider {
            Provider::Google => self.google,
            Provider::GitHub => self.github,
        }
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
