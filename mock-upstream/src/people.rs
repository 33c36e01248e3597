//! Who can sign in: the seeded people, and any other person.

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::Provider;
use crate::shelf::Content;

mod seeded;

pub use seeded::{Seeded, ada, seeded};

/// One person's account with one provider.
///
/// As JSON: `{"id","name","username","email","email_verified","email_private",
/// "picture"}`, where all but `id` may be absent or null. Nothing else is taken.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Value")]
pub struct Person {
    /// What the provider knows the account by: Google's `sub`, GitHub's `id`.
    pub id: String,
    /// The name to show.
    pub name: Option<String>,
    /// GitHub's `login`, `user` and the id if there is none; Google has no such
    /// thing.
    pub username: Option<String>,
    /// The (primary) e-mail address.
    pub email: Option<String>,
    /// Whether the provider made sure of the address.
    pub email_verified: bool,
    /// Where the picture is.
    pub picture: Option<String>,
    /// The visibility of the address on GitHub; `email_private` in the JSON.
    pub visibility: Visibility,
    /// More addresses on GitHub, verified, none of them primary; they come before
    /// the primary one. Not part of the JSON.
    pub other_emails: Vec<String>,
    /// The domain of a Workspace account at Google, which this person keeps beside
    /// a private one. Not part of the JSON.
    pub hosted_domain: Option<String>,
}

/// Who may see an account's address on GitHub. Google's accounts have no such
/// switch: there an address is part of the sign-in or it is not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Visibility {
    /// Everyone, once it is verified: `/user` shows it.
    #[default]
    Public,
    /// Its owner: only `/user/emails` shows it.
    Private,
}

/// Why a person cannot sign in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidPerson {
    /// It is no JSON object.
    #[error("a person is a JSON object")]
    NotAnObject,
    /// A field that no person has.
    #[error(
        "a person has id, name, username, email, email_verified, email_private, picture, \
         and nothing else"
    )]
    UnknownField,
    /// No `id`.
    #[error("a person needs an id")]
    NoId,
    /// A text field that holds something else.
    #[error("{0} must be a string")]
    NotText(&'static str),
    /// A yes-or-no field that holds something else.
    #[error("{0} must be true or false")]
    NotBool(&'static str),
    /// Google's `sub` has a form.
    #[error("id must be 1 to 255 ASCII characters, as Google's sub is")]
    GoogleId,
    /// GitHub's `id` has a form.
    #[error("id must be a string of digits without leading zeros, as GitHub's id is a number")]
    GitHubId,
}

impl Visibility {
    /// The visibility that `email_private` names.
    pub(crate) fn of_private(is_private: bool) -> Self {
        match is_private {
            true => Self::Private,
            false => Self::Public,
        }
    }
}

impl Content for Person {
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
        let fields: usize = fields.into_iter().map(Content::heap_bytes).sum();
        self.id.len() + fields + self.other_emails.iter().map(String::len).sum::<usize>()
    }
}

impl Person {
    /// Whether `provider` could have such an account.
    pub(crate) fn check_for(&self, provider: Provider) -> Result<(), InvalidPerson> {
        match provider {
            Provider::Google if !is_google_sub(&self.id) => Err(InvalidPerson::GoogleId),
            Provider::GitHub if !is_github_id(&self.id) => Err(InvalidPerson::GitHubId),
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

    /// The address that everyone sees on GitHub, which shows verified ones only.
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

/// A number as GitHub writes it: without a sign or leading zeros.
fn is_github_id(id: &str) -> bool {
    id.parse::<u64>()
        .is_ok_and(|number| number.to_string() == id)
}

// By hand, because serde's messages repeat what they were given.
impl TryFrom<Value> for Person {
    type Error = InvalidPerson;

    fn try_from(value: Value) -> Result<Self, InvalidPerson> {
        let Value::Object(mut fields) = value else {
            return Err(InvalidPerson::NotAnObject);
        };
        let person = Self {
            id: take_text(&mut fields, "id")?.ok_or(InvalidPerson::NoId)?,
            name: take_text(&mut fields, "name")?,
            username: take_text(&mut fields, "username")?,
            email: take_text(&mut fields, "email")?,
            email_verified: take_bool(&mut fields, "email_verified")?,
            visibility: Visibility::of_private(take_bool(&mut fields, "email_private")?),
            picture: take_text(&mut fields, "picture")?,
            ..Self::default()
        };
        match fields.is_empty() {
            true => Ok(person),
            false => Err(InvalidPerson::UnknownField),
        }
    }
}

fn take_text(
    fields: &mut Map<String, Value>,
    name: &'static str,
) -> Result<Option<String>, InvalidPerson> {
    match fields.remove(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(InvalidPerson::NotText(name)),
    }
}

fn take_bool(fields: &mut Map<String, Value>, name: &'static str) -> Result<bool, InvalidPerson> {
    match fields.remove(name) {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Bool(yes)) => Ok(yes),
        Some(_) => Err(InvalidPerson::NotBool(name)),
    }
}
