//! One account with one provider, and the user who has an account at one or at both.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::Provider;
use crate::expiring_store::HeapSize;

/// A user's account with one provider.
///
/// As JSON: `{"id","name","username","email","email_verified","email_private",
/// "picture"}`, where all but `id` may be absent or null. Other members are rejected.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Value")]
pub struct User {
    /// The provider's id of the account: Google's `sub`, GitHub's `id`.
    pub id: String,
    /// The display name.
    pub name: Option<String>,
    /// GitHub's `login`, by default `user` and the id. Google has no such member.
    pub username: Option<String>,
    /// The (primary) e-mail address.
    pub email: Option<String>,
    /// Whether the provider verified the address.
    pub email_verified: bool,
    /// The URL of the picture.
    pub picture: Option<String>,
    /// The visibility of the address on GitHub; `email_private` in the JSON.
    pub visibility: Visibility,
    /// More addresses on GitHub, verified and not primary; GitHub lists them before the
    /// primary one. Not part of the JSON.
    pub other_emails: Vec<String>,
    /// The domain of a Workspace account at Google, the second account in this user's
    /// browser. Not part of the JSON.
    pub hosted_domain: Option<String>,
}

/// The members of the JSON of a [`User`].
pub(super) const USER_MEMBERS: [&str; 7] = [
    "id",
    "name",
    "username",
    "email",
    "email_verified",
    "email_private",
    "picture",
];

/// The visibility of an account's address on GitHub. Google has no such setting: there an
/// address is part of the sign-in or it is not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Visibility {
    /// `/user` shows the address, once it is verified.
    #[default]
    Public,
    /// Only `/user/emails` shows the address.
    Private,
}

/// The reason why a user cannot sign in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidUser {
    /// The JSON is not an object.
    #[error("a person is a JSON object")]
    NotAnObject,
    /// The JSON has a member that no user has.
    #[error(
        "a person has id, name, username, email, email_verified, email_private, picture, \
         and nothing else"
    )]
    UnknownField,
    /// The JSON has no `id`.
    #[error("a person needs an id")]
    NoId,
    /// A text member is not a string.
    #[error("{0} must be a string")]
    NotText(&'static str),
    /// A boolean member is not a boolean.
    #[error("{0} must be true or false")]
    NotBool(&'static str),
    /// The id is not a possible `sub` of Google's.
    #[error("id must be 1 to 255 ASCII characters, as Google's sub is")]
    GoogleId,
    /// The id is not a possible `id` of GitHub's.
    #[error("id must be a string of digits without leading zeros, as GitHub's id is a number")]
    GitHubId,
}

impl Visibility {
    /// The visibility for a value of `email_private`.
    pub(crate) fn from_email_private(is_private: bool) -> Self {
        match is_private {
            true => Self::Private,
            false => Self::Public,
        }
    }
}

impl User {
    /// Checks that `provider` could have such an account.
    pub(crate) fn check_for(&self, provider: Provider) -> Result<(), InvalidUser> {
        match provider {
            Provider::Google if !is_google_sub(&self.id) => Err(InvalidUser::GoogleId),
            Provider::GitHub if !is_github_id(&self.id) => Err(InvalidUser::GitHubId),
            _ => Ok(()),
        }
    }

    /// GitHub's `login`.
    pub(crate) fn login(&self) -> String {
        match &self.username {
            Some(username) => username.clone(),
            None => format!("user{}", self.id),
        }
    }

    /// The address that GitHub shows publicly, which is always a verified one.
    pub(crate) fn public_email(&self) -> Option<&str> {
        match self.visibility {
            Visibility::Public if self.email_verified => self.email.as_deref(),
            _ => None,
        }
    }
}

fn is_google_sub(id: &str) -> bool {
    (1..=255).contains(&id.len()) && id.is_ascii()
}

/// GitHub writes its numbers without a sign or leading zeros.
fn is_github_id(id: &str) -> bool {
    id.parse::<u64>()
        .is_ok_and(|number| number.to_string() == id)
}

impl HeapSize for User {
    fn heap_bytes(&self) -> usize {
        let Self {
            name,
            username,
            email,
            picture,
            hosted_domain,
            ..
        } = self;
        let fields = [name, username, email, picture, hosted_domain];
        let fields: usize = fields.into_iter().map(HeapSize::heap_bytes).sum();
        self.id.len() + fields + self.other_emails.iter().map(String::len).sum::<usize>()
    }
}

// Written by hand, because serde's messages repeat the input.
impl TryFrom<Value> for User {
    type Error = InvalidUser;

    fn try_from(value: Value) -> Result<Self, InvalidUser> {
        let Value::Object(mut fields) = value else {
            return Err(InvalidUser::NotAnObject);
        };
        let user = Self {
            id: take_text(&mut fields, "id")?.ok_or(InvalidUser::NoId)?,
            name: take_text(&mut fields, "name")?,
            username: take_text(&mut fields, "username")?,
            email: take_text(&mut fields, "email")?,
            email_verified: take_bool(&mut fields, "email_verified")?,
            visibility: Visibility::from_email_private(take_bool(&mut fields, "email_private")?),
            picture: take_text(&mut fields, "picture")?,
            ..Self::default()
        };
        match fields.is_empty() {
            true => Ok(user),
            false => Err(InvalidUser::UnknownField),
        }
    }
}

pub(super) fn take_text(
    fields: &mut Map<String, Value>,
    name: &'static str,
) -> Result<Option<String>, InvalidUser> {
    match fields.remove(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(InvalidUser::NotText(name)),
    }
}

fn take_bool(fields: &mut Map<String, Value>, name: &'static str) -> Result<bool, InvalidUser> {
    match fields.remove(name) {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Bool(value)) => Ok(value),
        Some(_) => Err(InvalidUser::NotBool(name)),
    }
}

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

impl KnownUser {
    /// The account at `provider`; every seed user has one at both.
    #[must_use]
    pub fn at(&self, provider: Provider) -> Option<&User> {
        match provider {
            Provider::Google => self.google.as_ref(),
            Provider::GitHub => self.github.as_ref(),
        }
    }

    /// The reason for this user at `provider`, whose page tells nothing of the other one.
    #[must_use]
    pub fn reason_at(&self, provider: Provider) -> &str {
        match (provider, self.github_reason) {
            (Provider::GitHub, Some(reason)) => reason,
            _ => &self.reason,
        }
    }
}
