//! The form for an account that is none of the known users.

use crate::http::Params;
use crate::users::{InvalidUser, Visibility};
use crate::{Provider, User};

/// The form as it was sent: a refused one is shown again with its values.
pub(crate) struct AccountForm<'a> {
    fields: Option<&'a Params>,
    refusal: Option<InvalidUser>,
}

impl<'a> AccountForm<'a> {
    pub(crate) fn empty() -> Self {
        Self {
            fields: None,
            refusal: None,
        }
    }

    pub(crate) fn refused(fields: &'a Params, refusal: InvalidUser) -> Self {
        Self {
            fields: Some(fields),
            refusal: Some(refusal),
        }
    }

    pub(crate) fn is_refused(&self) -> bool {
        self.refusal.is_some()
    }

    pub(crate) fn value(&self, name: &str) -> &str {
        let value = self.fields.and_then(|fields| fields.get(name));
        value.unwrap_or_default()
    }

    pub(crate) fn is_checked(&self, name: &str) -> bool {
        !self.value(name).is_empty()
    }

    /// The message at the field `id`, the only one that can be wrong.
    pub(crate) fn id_message(&self) -> Option<&'static str> {
        self.refusal.map(message)
    }
}

/// The user in a form.
pub(crate) fn user(provider: Provider, form: &Params) -> Result<User, InvalidUser> {
    let field = |name| form.get(name).map(str::to_owned);
    let user = User {
        id: field("id").ok_or(InvalidUser::NoId)?,
        name: field("name"),
        username: field("username"),
        email: field("email"),
        email_verified: form.get("email_verified").is_some(),
        visibility: Visibility::from_email_private(form.get("email_private").is_some()),
        picture: field("picture"),
        ..User::default()
    };
    user.check_for(provider).map(|()| user)
}

/// What the user can do about a refusal; the API's own messages speak of JSON.
fn message(refusal: InvalidUser) -> &'static str {
    match refusal {
        InvalidUser::GoogleId => "Use 1 to 255 ASCII characters, as Google’s IDs have.",
        InvalidUser::GitHubId => "Use digits without leading zeros, as in 4711.",
        _ => "Enter an ID: an account has at least that.",
    }
}
