//! The ways in which a provider can misbehave, by name.
//!
//! The module `table` lists them all, each with its effect and its description; the page,
//! the control API and the Rust handle read it. A row without an effect does not compile, and
//! neither does a fault of one part of a sign-in that this part does not carry out.

mod effect;
mod table;

use std::sync::LazyLock;

pub(crate) use effect::{
    AccountFault, CallbackFault, Effect, IdTokenFault, ResponseFault, TokenFault,
};
pub use table::{Group, Misbehaviour};

use crate::Provider;

/// A name that is not a misbehaviour of this provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} can misbehave as: {}", .0, names(*.0))]
pub struct UnknownMisbehaviour(Provider);

impl Misbehaviour {
    /// The misbehaviours of `provider`, in the order of its page.
    #[must_use]
    pub fn of(provider: Provider) -> &'static [Self] {
        static BY_PROVIDER: LazyLock<[Vec<Misbehaviour>; 2]> = LazyLock::new(|| {
            Provider::ALL.map(|provider| {
                let all = Misbehaviour::ALL.iter().copied();
                all.filter(|known| known.row().effects.at(provider).is_some())
                    .collect()
            })
        });
        let [google, github] = &*BY_PROVIDER;
        match provider {
            Provider::Google => google,
            Provider::GitHub => github,
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
        let effect = self.row().effects.at(provider);
        effect
            .map(|(_, description)| description)
            .unwrap_or_default()
    }

    /// The effect at `provider`, if it has this misbehaviour.
    pub(crate) fn effect(self, provider: Provider) -> Option<Effect> {
        self.row().effects.at(provider).map(|(effect, _)| effect)
    }

    /// The error that the login must end with, a value of `LoginResult.error`; `None` if
    /// it must succeed with a clean profile.
    #[must_use]
    pub fn error(self) -> Option<&'static str> {
        self.row().error
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
}

/// The misbehaviours of a provider with which a login ends alike; the sign-in page groups
/// them so.
pub(crate) struct Ending {
    /// The error that the login ends with; `None` if it succeeds.
    pub(crate) error: Option<&'static str>,
    /// The groups that are not empty.
    pub(crate) groups: Vec<(Group, Vec<Misbehaviour>)>,
}

impl Ending {
    /// The ends that `provider` can cause, in the order in which their first misbehaviours
    /// are in the table; success is the last one.
    pub(crate) fn all_at(provider: Provider) -> Vec<Self> {
        let mut errors = Vec::new();
        for misbehaviour in Misbehaviour::of(provider) {
            if !errors.contains(&misbehaviour.error()) {
                errors.push(misbehaviour.error());
            }
        }
        errors.sort_by_key(Option::is_none);
        let endings = errors.into_iter().map(|error| {
            let all = Misbehaviour::of(provider).iter().copied();
            let all: Vec<_> = all.filter(|known| known.error() == error).collect();
            let groups = all.chunk_by(|one, next| one.group() == next.group());
            Self {
                error,
                groups: groups.map(|it| (it[0].group(), it.to_vec())).collect(),
            }
        });
        endings.collect()
    }
}

/// The names of a provider's misbehaviours, with commas between them.
fn names(provider: Provider) -> String {
    let names = Misbehaviour::of(provider).iter().map(|known| known.name());
    names.collect::<Vec<_>>().join(", ")
}
