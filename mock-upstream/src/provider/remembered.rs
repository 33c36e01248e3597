//! The users whom browsers sign in again without being asked: "the same again next time".
//!
//! A browser is known by a cookie with a random value, and the user is kept here: a reset
//! of the provider forgets all of them. Cookies ignore ports, so that several providers
//! and stacks get one cookie; each keeps its own users under its value.

use crate::User;
use crate::expiring_store::{ExpiringStore, HeapSize};
use crate::http::Request;
use crate::system::{URL_SAFE, random_string};

/// The cookie that tells browsers apart. It ends with the browser's session.
const COOKIE: &str = "mock_browser";
const COOKIE_LENGTH: usize = 43;

/// The remembered users, by the cookie of their browser.
pub(crate) struct RememberedUsers(ExpiringStore<Remembered>);

/// A user whom a browser signs in again.
#[derive(Clone)]
pub(crate) struct Remembered {
    /// The key of a known user; `None` for one of the form.
    pub(crate) key: Option<String>,
    pub(crate) user: User,
}

impl RememberedUsers {
    pub(crate) fn new() -> Self {
        Self(ExpiringStore::new())
    }

    /// The user whom the browser of this request signs in again.
    pub(crate) fn of(&self, request: &Request) -> Option<Remembered> {
        self.0.read(browser_of(request)?, 0, Remembered::clone)
    }

    /// Remembers a user for the browser of this request, and returns the `Set-Cookie`.
    /// `Lax`: the browser comes from an app's own site.
    pub(crate) fn remember(&self, request: &Request, remembered: Remembered) -> String {
        let browser = match browser_of(request) {
            Some(known) => known.to_owned(),
            None => random_string(URL_SAFE, COOKIE_LENGTH),
        };
        let set_cookie = format!("{COOKIE}={browser}; Path=/; HttpOnly; SameSite=Lax");
        self.0.put(browser, remembered, i64::MAX);
        set_cookie
    }

    /// Forgets the user of the browser of this request.
    pub(crate) fn forget(&self, request: &Request) {
        if let Some(browser) = browser_of(request) {
            self.0.take(browser, 0);
        }
    }

    pub(crate) fn clear(&self) {
        self.0.clear();
    }

    pub(crate) fn bytes_held(&self) -> usize {
        self.0.bytes_held()
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
