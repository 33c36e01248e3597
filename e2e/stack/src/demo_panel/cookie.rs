//! The cookie with the ids of the logins that a browser has started, newest first.

use consumer_demo::SentCookies;
use rocket::Request;
use rocket::http::{Cookie, SameSite};
use rocket::time::Duration;
use url::Url;

/// The number of ids that are kept: the one that signed the user in, and several starts
/// after it.
const MAX_LOGINS: usize = 8;

/// The time that a browser keeps them.
const MAX_AGE: Duration = Duration::days(1);

/// The length of an id.
const ID_LENGTH: usize = 12;

/// The cookie of one demo.
#[derive(Debug, Clone)]
pub(super) struct LoginsCookie {
    name: String,
    is_secure: bool,
}

impl LoginsCookie {
    /// The cookie of the demo at `url`. Its name contains the port, because browsers share
    /// the cookies of all ports of a host, and a sandbox has a demo of its own.
    pub(super) fn of(url: &str) -> Self {
        let url = Url::parse(url).ok();
        let port = url.as_ref().and_then(Url::port_or_known_default);
        let is_secure = url.as_ref().is_some_and(|url| url.scheme() == "https");
        let prefix = if is_secure { "__Host-" } else { "" };
        Self {
            name: format!("{prefix}kit_logins_{}", port.unwrap_or_default()),
            is_secure,
        }
    }

    /// The ids that the browser sent. A malformed one is left out.
    pub(super) fn read(&self, request: &Request<'_>) -> Vec<String> {
        let Some(value) = SentCookies::of(request).value(&self.name) else {
            return Vec::new();
        };
        let ids = value.split('.').filter(|id| is_id(id));
        ids.take(MAX_LOGINS).map(ToOwned::to_owned).collect()
    }

    /// The cookie with `login` before those that the browser sent.
    pub(super) fn with(&self, login: &str, request: &Request<'_>) -> Cookie<'static> {
        let mut ids = self.read(request);
        ids.retain(|id| id != login);
        ids.insert(0, login.to_owned());
        ids.truncate(MAX_LOGINS);
        Cookie::build((self.name.clone(), ids.join(".")))
            .http_only(true)
            .same_site(SameSite::Lax)
            .secure(self.is_secure)
            .path("/")
            .max_age(MAX_AGE)
            .build()
    }
}

fn is_id(text: &str) -> bool {
    text.len() == ID_LENGTH
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

#[cfg(test)]
mod tests {
    use rocket::http::Header;
    use rocket::local::blocking::Client;

    use super::*;

    #[test]
    fn the_ids_are_those_of_the_one_cookie_with_exactly_the_name() {
        let client = Client::debug(rocket::build()).expect("a client");
        let [ours, planted] = ["aaaaaaaaaaaa", "bbbbbbbbbbbb"];
        for (sent, ids) in [
            (format!("other=x; __Host-kit_logins_443={ours}"), vec![ours]),
            (
                format!("__Host-kit_logins_443={ours}.x.{planted}"),
                vec![ours, planted],
            ),
            (format!("%5F%5FHost-kit_logins_443={planted}"), vec![]),
            (format!("\u{2000}__Host-kit_logins_443={planted}"), vec![]),
            (
                format!("%5F%5FHost-kit_logins_443={planted}; __Host-kit_logins_443={ours}"),
                vec![ours],
            ),
            (
                format!("__Host-kit_logins_443={ours}; __Host-kit_logins_443={planted}"),
                vec![],
            ),
        ] {
            let request = client.get("/").header(Header::new("Cookie", sent.clone()));
            let cookie = LoginsCookie::of("https://localhost");
            assert_eq!(cookie.read(request.inner()), ids, "{sent}");
        }
    }
}
