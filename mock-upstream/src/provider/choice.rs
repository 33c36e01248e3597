//! The choice of a user: the accounts that the sign-in page shows, what its form sends, and "the
//! same again next time".
//!
//! A browser is known by a cookie with a random value, and its user is kept here: a reset
//! of the provider forgets all of them. Cookies ignore ports, so that several providers
//! and stacks get one cookie; each keeps its own users under its value.

use super::context::{ProviderContext, SignInScript};
use super::pages::{LAST_TIME, OTHER, Problem, Row};
use crate::expiring_store::{ExpiringStore, HeapSize};
use crate::http::{Params, Request};
use crate::system::{URL_SAFE, random_string};
use crate::users::{InvalidUser, KnownUsers, Visibility};
use crate::{Misbehaviour, Provider, User};

/// A choice on the page.
pub(crate) enum Choice {
    User(Remembered),
    Misbehave(Misbehaviour),
}

impl Choice {
    /// The choice in a form: a misbehaviour, a known user, the user of the last time, or
    /// the fields of another user.
    pub(crate) fn parse<'a>(
        context: &ProviderContext,
        form: &'a Params,
        last_time: Option<&Remembered>,
    ) -> Result<Self, Problem<'a>> {
        let provider = context.provider;
        let chosen = match (form.get("misbehave"), form.get("person")) {
            (Some(name), _) => {
                return Misbehaviour::parse(provider, name)
                    .map(Self::Misbehave)
                    .map_err(|error| Problem::new(error.to_string()));
            }
            (None, Some(OTHER)) => Some(Remembered {
                key: None,
                user: user(provider, form).map_err(|error| Problem::of_form(form, error))?,
            }),
            (None, Some(LAST_TIME)) => last_time.cloned(),
            (None, key) => {
                let key = key.unwrap_or_default();
                let user = context.users.find(provider, key).cloned();
                user.map(|user| Remembered {
                    key: Some(key.to_owned()),
                    user,
                })
            }
        };
        let choose_one = || Problem::new("Choose an account.".to_owned());
        chosen.map(Self::User).ok_or_else(choose_one)
    }

    pub(crate) fn into_script(self, provider: Provider) -> SignInScript {
        match self {
            Self::User(remembered) => SignInScript::of(remembered.user),
            Self::Misbehave(misbehaviour) => SignInScript::misbehaving(misbehaviour, provider),
        }
    }
}

/// The user in the form for an account that is none of the known users.
fn user(provider: Provider, form: &Params) -> Result<User, InvalidUser> {
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

/// The accounts of the page: that of the last time, then the known users.
pub(crate) fn rows<'a>(
    provider: Provider,
    users: &'a KnownUsers,
    last_time: Option<&'a Remembered>,
) -> Vec<Row<'a>> {
    let known = users.at(provider).map(|(user, account)| Row {
        key: &user.key,
        account,
        reason: user.reason_at(provider),
        is_of_last_time: last_time.is_some_and(|last| last.key.as_deref() == Some(&*user.key)),
    });
    let mut rows: Vec<_> = known.collect();
    rows.sort_by_key(|row| !row.is_of_last_time);
    if let Some(Remembered { key: None, user }) = last_time {
        let of_the_form = Row {
            key: LAST_TIME,
            account: user,
            reason: "Entered by you.",
            is_of_last_time: true,
        };
        rows.insert(0, of_the_form);
    }
    rows
}

/// The cookie that tells browsers apart. It ends with the browser's session.
const COOKIE: &str = "mock_browser";
const COOKIE_LENGTH: usize = 43;

/// The remembered users, by the cookie of their browser.
pub(crate) type RememberedUsers = ExpiringStore<Remembered>;

/// A user whom a browser signs in again.
#[derive(Clone)]
pub(crate) struct Remembered {
    /// The key of a known user; `None` for one of the form.
    pub(crate) key: Option<String>,
    pub(crate) user: User,
}

impl RememberedUsers {
    /// The user whom the browser of this request signs in again.
    pub(crate) fn of(&self, request: &Request) -> Option<Remembered> {
        self.read(browser_of(request)?, 0, Remembered::clone)
    }

    /// Remembers a user for the browser of this request, and returns the `Set-Cookie`.
    /// `Lax`: the browser comes from an app's own site.
    pub(crate) fn remember(&self, request: &Request, remembered: Remembered) -> String {
        let browser = match browser_of(request) {
            Some(known) => known.to_owned(),
            None => random_string(URL_SAFE, COOKIE_LENGTH),
        };
        let set_cookie = format!("{COOKIE}={browser}; Path=/; HttpOnly; SameSite=Lax");
        self.put(browser, remembered, i64::MAX);
        set_cookie
    }

    /// Forgets the user of the browser of this request.
    pub(crate) fn forget(&self, request: &Request) {
        if let Some(browser) = browser_of(request) {
            self.take(browser, 0);
        }
    }
}

/// The cookie of the browser of a request, unless it has none of a mock.
fn browser_of(request: &Request) -> Option<&str> {
    let is_ours = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let value = request.cookie(COOKIE)?;
    (value.len() == COOKIE_LENGTH && value.bytes().all(is_ours)).then_some(value)
}

impl HeapSize for Remembered {
    fn heap_bytes(&self) -> usize {
        self.key.heap_bytes() + self.user.heap_bytes()
    }
}
