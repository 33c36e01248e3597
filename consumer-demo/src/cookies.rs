//! The cookies and the look of a browser: the cookies of a request as the browser sent them,
//! byte for byte, and the random values of those that are ours.
//!
//! **Check your framework here.** Rocket's own jar percent-decodes cookie names and
//! trims every kind of white space around them; other frameworks do likewise. A
//! browser does neither. It guards the name `__Host-session`, so that only this very
//! host can set it, but lets any sister subdomain set `%5F%5FHost-session` for the
//! parent domain. A jar that decodes returns both under one name, and an attacker
//! who controls the sister subdomain chooses the session.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use contract::Digest;
use rocket::Request;
use rocket::http::HeaderMap;

use crate::random;

/// The cookies in the `Cookie` headers of one request.
#[derive(Clone, Copy)]
pub struct SentCookies<'r>(&'r HeaderMap<'r>);

impl<'r> SentCookies<'r> {
    /// The cookies of `request`.
    pub fn of(request: &'r Request<'_>) -> Self {
        Self(request.headers())
    }

    // [session]
    /// The value of the cookie called exactly `name`, if the browser sent one. Of
    /// two with the same name, one was planted, and nothing says which: then there
    /// is none.
    pub fn value(self, name: &str) -> Option<&'r str> {
        let mut values = self.pairs().filter(|(sent, _)| *sent == name);
        match (values.next(), values.next()) {
            (Some((_, value)), None) => Some(value),
            _ => None,
        }
    }

    /// Every name with its value. Nothing is decoded, and nothing is trimmed but
    /// the white space that separates one cookie from the next.
    fn pairs(self) -> impl Iterator<Item = (&'r str, &'r str)> {
        let lines = self.0.get("Cookie");
        lines
            .flat_map(|line| line.split(';'))
            .filter_map(|pair| pair.trim_matches([' ', '\t']).split_once('='))
    }
    // [/]
}

/// The value of a cookie: 256 random bits. A client that sends it is taken for the
/// browser that received it.
pub(crate) struct CookieValue(String);

impl CookieValue {
    /// A fresh value.
    pub(crate) fn random() -> Self {
        Self(URL_SAFE_NO_PAD.encode(random::bytes()))
    }

    /// The text, for the cookie.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }

    /// The digest that the server keeps, so that a copy of its table (or of a backup)
    /// opens no session. A plain SHA-256 suffices: 256 random
    /// bits cannot be guessed.
    pub(crate) fn digest(&self) -> ValueDigest {
        ValueDigest(*Digest::of(self.0.as_bytes()).as_bytes())
    }
}

/// SHA-256 of a [`CookieValue`].
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct ValueDigest(pub(crate) [u8; 32]);

impl FromStr for CookieValue {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text.len() {
            43 => Ok(Self(text.to_owned())),
            _ => Err(()),
        }
    }
}

impl fmt::Debug for CookieValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CookieValue([redacted])")
    }
}

/// The headers by which browsers differ, and which each sends with every navigation.
const HEADERS: [&str; 5] = [
    "User-Agent",
    "Accept-Language",
    "Sec-CH-UA",
    "Sec-CH-UA-Mobile",
    "Sec-CH-UA-Platform",
];

/// The digest of the headers by which browsers differ. A login ends only in a browser
/// that looks like the one that started it.
///
/// Why, since the cookies tie the login to its browser? **Cookies know no ports.** A page
/// on another port of this host name (a second application, a developer's server) sets
/// any of our cookies in its visitor's browser, `__Host-` or not. An attacker starts a
/// login here, finishes it as themselves, plants its cookies in the victim's browser, and
/// sends it to our callback: the victim would be signed in as the attacker, and save what
/// is theirs in the attacker's account. A cookie can be planted; the headers that the
/// victim's browser sends cannot.
///
/// This is a second line. It does not stop an attacker who starts the login with the
/// headers of the victim's browser, which any page that the victim visits can read, or
/// one who plants a session that is signed in already. What does is a **host name of its
/// own** for your application, which serves nothing else on any port.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct BrowserLook(pub(crate) [u8; 32]);

impl BrowserLook {
    /// The look of the browser that sent `headers`. That it did not send one of the
    /// five counts as well.
    pub(crate) fn of(headers: &HeaderMap<'_>) -> Self {
        let values = HEADERS.map(|name| headers.get(name).collect::<Vec<_>>().join(", "));
        Self(*Digest::of(values.join("\n").as_bytes()).as_bytes())
    }
}
