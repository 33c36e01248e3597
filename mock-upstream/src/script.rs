//! The course of one sign-in: the user, and the misbehaviour if there is one.

use crate::expiring_store::HeapSize;
use crate::misbehaviour::UnknownMisbehaviour;
use crate::users::{InvalidUser, ada};
use crate::{Misbehaviour, Provider, User};

/// An entry of a provider's queue: the course of one sign-in to come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// This user signs in.
    User(User),
    /// The default user signs in, with this misbehaviour.
    Misbehave(Misbehaviour),
}

/// A queued entry, and the sign-ins that may take it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queued {
    /// The number that [removes](crate::Upstream::remove_queued) the entry; a provider
    /// gives each number once, also across resets.
    pub id: u64,
    /// The course of the sign-in.
    pub next: Next,
    /// The label of the only sign-ins that take it; any sign-in does without one.
    pub label: Option<String>,
}

/// The reason why an entry cannot be queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QueueError {
    /// The provider cannot have such a user.
    #[error(transparent)]
    User(#[from] InvalidUser),
    /// The provider has no such misbehaviour.
    #[error(transparent)]
    Misbehaviour(#[from] UnknownMisbehaviour),
}

impl Next {
    /// Checks that `provider` has this user or misbehaviour.
    pub(crate) fn check_for(&self, provider: Provider) -> Result<(), QueueError> {
        match self {
            Self::User(user) => user.check_for(provider)?,
            Self::Misbehave(misbehaviour) => {
                Misbehaviour::parse(provider, misbehaviour.name())?;
            }
        }
        Ok(())
    }
}

impl Queued {
    /// Whether a sign-in with this label takes the entry.
    pub(crate) fn is_for(&self, label: Option<&str>) -> bool {
        self.label.is_none() || self.label.as_deref() == label
    }
}

/// The user of a sign-in, and its misbehaviour.
pub(crate) struct SignInScript {
    pub(crate) user: User,
    pub(crate) misbehaviour: Option<Misbehaviour>,
}

impl SignInScript {
    pub(crate) fn from_next(next: Next, provider: Provider) -> Self {
        match next {
            Next::User(user) => Self::of(user),
            Next::Misbehave(misbehaviour) => Self::misbehaving(misbehaviour, provider),
        }
    }

    pub(crate) fn of(user: User) -> Self {
        Self {
            user,
            misbehaviour: None,
        }
    }

    /// The sign-in of the default user.
    pub(crate) fn default_at(provider: Provider) -> Self {
        Self::of(default_user(provider))
    }

    pub(crate) fn misbehaving(misbehaviour: Misbehaviour, provider: Provider) -> Self {
        let mut user = default_user(provider);
        corrupt(&mut user, misbehaviour);
        Self {
            user,
            misbehaviour: Some(misbehaviour),
        }
    }
}

impl HeapSize for SignInScript {
    fn heap_bytes(&self) -> usize {
        self.user.heap_bytes()
    }
}

fn default_user(provider: Provider) -> User {
    let ada = ada();
    let account = ada.at(provider).cloned();
    account.expect("she has an account at both")
}

/// Makes the account odd, if that is the misbehaviour.
fn corrupt(user: &mut User, misbehaviour: Misbehaviour) {
    use Misbehaviour as M;
    match misbehaviour {
        M::EmailTwoAts => user.email = Some("ada@evil.example@people.example".to_owned()),
        M::NameBidi => user.name = Some("Ada \u{202e}ecalevoL".to_owned()),
        M::NameNul => user.name = Some("Ada\0 Lovelace".to_owned()),
        M::NameLong => user.name = Some("A".repeat(10_000)),
        M::AvatarJavascript => user.picture = Some("javascript:alert(1)".to_owned()),
        M::AvatarHttp => user.picture = Some("http://pictures.example/ada".to_owned()),
        M::AvatarData => user.picture = Some("data:image/png;base64,AAAA".to_owned()),
        M::SubEmpty => user.id = String::new(),
        M::SubTooLong => user.id = "1".repeat(256),
        _ => {}
    }
}
