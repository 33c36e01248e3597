//! The users that can sign in: the seed users, those of a people file, and any other user; and the
//! providers at which they have their accounts.

mod user;

mod people_file;
mod seed;

use std::fmt;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

pub use people_file::PeopleFileError;
pub use seed::{ada, seed_users};
pub use user::{InvalidUser, KnownUser, User, Visibility};

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

/// All users that a mock knows by a key. Clones share them.
#[derive(Clone, Debug)]
pub struct KnownUsers(Arc<[KnownUser]>);

/// The provider has no user with the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} has no user with this key; the buttons of its sign-in page show the keys")]
pub struct UnknownKey(pub(crate) Provider);

impl KnownUsers {
    /// The seed users, and after them those of the people file at `path`.
    ///
    /// # Errors
    ///
    /// Fails on a file that cannot be read, and on one with a user that cannot be; the
    /// error is one line that names the file and the user.
    pub fn with_people(path: &Path) -> Result<Self, PeopleFileError> {
        let mut users = seed_users();
        people_file::add_to(&mut users, path)?;
        Ok(Self(users.into()))
    }

    /// The users with an account at `provider`, in the order of the page.
    pub fn at(&self, provider: Provider) -> impl Iterator<Item = (&KnownUser, &User)> {
        let accounts = self.0.iter().map(move |user| (user, user.at(provider)));
        accounts.filter_map(|(user, account)| Some((user, account?)))
    }

    /// The account at `provider` of the user with this key.
    pub(crate) fn find(&self, provider: Provider, key: &str) -> Option<&User> {
        let mut users = self.at(provider);
        let (_, account) = users.find(|(user, _)| user.key == key)?;
        Some(account)
    }
}

impl Default for KnownUsers {
    /// The seed users alone.
    fn default() -> Self {
        Self(seed_users().into())
    }
}
