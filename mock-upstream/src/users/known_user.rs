//! The users that the sign-in page offers: the seed users, and those of a people file.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use super::people_file::{self, PeopleFileError};
use super::seed::seed_users;
use super::user::User;
use crate::Provider;

/// A user with a key, and an account at one provider or at both.
#[derive(Clone, Debug)]
pub struct KnownUser {
    /// The short name that tests use: `data-person` of the button.
    pub key: Cow<'static, str>,
    /// The reason for this user, as a sentence.
    pub reason: Cow<'static, str>,
    /// The reason at GitHub, if it is another one there.
    pub(super) github_reason: Option<&'static str>,
    pub(super) google: Option<User>,
    pub(super) github: Option<User>,
}

/// All users that a mock knows by a key. Clones share them.
#[derive(Clone, Debug)]
pub struct KnownUsers(Arc<[KnownUser]>);

/// The provider has no user with the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} has no user with this key; the buttons of its sign-in page show the keys")]
pub struct UnknownKey(pub(crate) Provider);

impl KnownUser {
    /// The account at `provider`; every seed user has one at both.
    #[must_use]
    pub fn at(&self, provider: Provider) -> Option<&User> {
        match provider {
            Provider::Google => self.google.as_ref(),
            Provider::GitHub => self.github.as_ref(),
        }
    }
}

impl KnownUser {
    /// The reason for this user at `provider`, whose page tells nothing of the other one.
    #[must_use]
    pub fn reason_at(&self, provider: Provider) -> &str {
        match (provider, self.github_reason) {
            (Provider::GitHub, Some(reason)) => reason,
            _ => &self.reason,
        }
    }
}

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
