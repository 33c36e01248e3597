//! A browser's cookies: kept by host (not by port), and sent by the rules of
//! `SameSite` (RFC 6265bis) for navigations of a whole page, the only requests of
//! these browsers. A cookie that a browser would not keep is a mistake of ours: the
//! jar panics.

use std::collections::BTreeMap;

use cookie::{Cookie, SameSite};
use reqwest::Method;
use url::{Host, Url};

/// The size of the longest cookie that browsers keep.
const MAX_BYTES: usize = 4096;

/// The cookies of a browser.
#[derive(Debug, Clone, Default)]
pub(super) struct CookieJar {
    cookies: BTreeMap<(String, String), Cookie<'static>>,
}

impl CookieJar {
    /// Stores a cookie that `url` sets.
    #[track_caller]
    pub(super) fn store(&mut self, url: &Url, line: &str) {
        let cookie = Cookie::parse(line.to_owned()).expect("a cookie");
        check(url, &cookie, line);
        let name = cookie.name().to_owned();
        let ends_now = cookie
            .max_age()
            .is_some_and(cookie::time::Duration::is_zero);
        let key = (host(url), name);
        if ends_now {
            self.cookies.remove(&key);
        } else {
            self.cookies.insert(key, cookie);
        }
    }

    /// The `Cookie` header of a navigation to `url` that began on the page
    /// `initiator`, or on none. Redirects on the way do not matter: the rules compare
    /// where it began with where it is now.
    pub(super) fn header(&self, initiator: Option<&Url>, method: &Method, url: &Url) -> String {
        let is_same_site = initiator.is_none_or(|page| is_same_site(page, url));
        let is_sent = |cookie: &Cookie<'_>| match cookie.same_site() {
            _ if is_same_site => true,
            Some(SameSite::Lax) => method.is_safe(),
            Some(SameSite::None) => true,
            Some(SameSite::Strict) | None => false,
        };
        let own = self
            .cookies
            .iter()
            .filter(|((owner, _), _)| *owner == host(url));
        let pairs: Vec<_> = own
            .filter(|(_, cookie)| is_sent(cookie))
            .map(|(_, cookie)| format!("{}={}", cookie.name(), cookie.value()))
            .collect();
        pairs.join("; ")
    }

    /// The cookies for the host of `url`: names and values.
    pub(super) fn of_host(&self, url: &Url) -> BTreeMap<String, String> {
        let host = host(url);
        let own = self.cookies.iter().filter(|((owner, _), _)| *owner == host);
        own.map(|((_, name), cookie)| (name.clone(), cookie.value().to_owned()))
            .collect()
    }

    /// Adds a cookie for the host of `url`, sent where one with `SameSite=Lax` is.
    pub(super) fn add(&mut self, url: &Url, name: &str, value: &str) {
        let mut cookie = Cookie::new(name.to_owned(), value.to_owned());
        cookie.set_same_site(SameSite::Lax);
        self.cookies.insert((host(url), name.to_owned()), cookie);
    }

    /// Deletes all cookies.
    pub(super) fn clear(&mut self) {
        self.cookies.clear();
    }
}

/// Asserts that a cookie says explicitly where it is sent, and is small enough.
#[track_caller]
fn check(url: &Url, cookie: &Cookie<'_>, line: &str) {
    assert!(line.len() <= MAX_BYTES, "{} bytes", line.len());
    // Rocket's default is Strict, and browsers' own one has a hole of two minutes.
    assert!(cookie.same_site().is_some(), "no SameSite: {line}");
    assert_eq!(cookie.http_only(), Some(true), "{line}");
    assert_eq!(cookie.path(), Some("/"), "{line}");
    assert_eq!(cookie.domain(), None, "{line}");
    let is_secure = cookie.secure() == Some(true);
    assert_eq!(is_secure, url.scheme() == "https", "{line}");
    assert_eq!(is_secure, cookie.name().starts_with("__Host-"), "{line}");
}

/// Whether two addresses belong to one site: ports do not matter.
pub(super) fn is_same_site(one: &Url, other: &Url) -> bool {
    one.scheme() == other.scheme() && site(one) == site(other)
}

/// The registrable domain of a host, or its address. `localhost` counts as a top-level
/// domain, under which every name has an owner of its own.
fn site(url: &Url) -> String {
    match url.host().expect("a host") {
        Host::Domain(name) => {
            let labels: Vec<_> = name.split('.').collect();
            labels[labels.len().saturating_sub(2)..].join(".")
        }
        address => address.to_string(),
    }
}

fn host(url: &Url) -> String {
    url.host_str().expect("a host").to_owned()
}
