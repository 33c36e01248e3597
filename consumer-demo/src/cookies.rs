//! The cookies of a request as the browser sent them, byte for byte.
//!
//! **Check your framework here.** Rocket's own jar percent-decodes cookie names and
//! trims every kind of white space around them; other frameworks do likewise. A
//! browser does neither. It guards the name `__Host-session`, so that only this very
//! host can set it, but lets any sister subdomain set `%5F%5FHost-session` for the
//! parent domain. A jar that decodes returns both under one name, and an attacker
//! who controls the sister subdomain chooses the session.

use rocket::Request;
use rocket::http::HeaderMap;

/// The cookies in the `Cookie` headers of one request.
#[derive(Clone, Copy)]
pub struct SentCookies<'r>(&'r HeaderMap<'r>);

impl<'r> SentCookies<'r> {
    /// The cookies of `request`.
    pub fn of(request: &'r Request<'_>) -> Self {
        Self(request.headers())
    }

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
}
