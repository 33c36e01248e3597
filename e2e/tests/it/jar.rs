//! A browser's cookies: kept by host (not by port), and sent by the rules of
//! `SameSite` (RFC 6265bis), for navigations of a whole page, which are all that
//! happens here. What a browser would refuse to keep is a mistake of ours: the jar
//! panics.

use std::collections::BTreeMap;

use cookie::{Cookie, SameSite};
use reqwest::Method;
use url::{Host, Url};

/// No browser keeps a longer cookie.
const MOST_BYTES: usize = 4096;

#[derive(Debug, Clone, Default)]
pub(crate) struct Jar {
    kept: BTreeMap<(String, String), Cookie<'static>>,
    made_strict: Option<&'static str>,
}

impl Jar {
    /// A jar that takes cookies whose names begin with `prefix` for Strict ones,
    /// whatever they say.
    pub(crate) fn making_strict(prefix: &'static str) -> Self {
        Self {
            kept: BTreeMap::new(),
            made_strict: Some(prefix),
        }
    }

    /// Keeps a cookie that `url` sets.
    #[track_caller]
    pub(crate) fn keep(&mut self, url: &Url, line: &str) {
        let mut cookie = Cookie::parse(line.to_owned()).expect("a cookie");
        check(url, &cookie, line);
        let name = cookie.name().to_owned();
        if self
            .made_strict
            .is_some_and(|start| name.starts_with(start))
        {
            cookie.set_same_site(SameSite::Strict);
        }
        let ends_now = cookie
            .max_age()
            .is_some_and(cookie::time::Duration::is_zero);
        let key = (host(url), name);
        if ends_now {
            self.kept.remove(&key);
        } else {
            self.kept.insert(key, cookie);
        }
    }

    /// The `Cookie` header of a navigation to `url` that began on the page
    /// `initiator`, or on none. What redirected on the way is not asked: the rules
    /// look at where it began and where it is now.
    pub(crate) fn header(&self, initiator: Option<&Url>, method: &Method, url: &Url) -> String {
        let is_same_site = initiator.is_none_or(|page| is_same_site(page, url));
        let is_sent = |cookie: &Cookie<'_>| match cookie.same_site() {
            _ if is_same_site => true,
            Some(SameSite::Lax) => method.is_safe(),
            Some(SameSite::None) => true,
            Some(SameSite::Strict) | None => false,
        };
        let own = self
            .kept
            .iter()
            .filter(|((owner, _), _)| *owner == host(url));
        let pairs: Vec<_> = own
            .filter(|(_, cookie)| is_sent(cookie))
            .map(|(_, cookie)| format!("{}={}", cookie.name(), cookie.value()))
            .collect();
        pairs.join("; ")
    }

    /// How many cookies it holds for the host of `url`.
    pub(crate) fn count(&self, url: &Url) -> usize {
        let host = host(url);
        self.kept.keys().filter(|(owner, _)| *owner == host).count()
    }

    /// Changes the value of every cookie.
    pub(crate) fn change(&mut self, change: impl Fn(&str) -> String) {
        for cookie in self.kept.values_mut() {
            let changed = change(cookie.value());
            cookie.set_value(changed);
        }
    }

    pub(crate) fn clear(&mut self) {
        self.kept.clear();
    }
}

/// Every cookie says explicitly who may have it, and is no larger than is kept.
#[track_caller]
fn check(url: &Url, cookie: &Cookie<'_>, line: &str) {
    assert!(line.len() <= MOST_BYTES, "{} bytes", line.len());
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
pub(crate) fn is_same_site(one: &Url, other: &Url) -> bool {
    one.scheme() == other.scheme() && site(one) == site(other)
}

/// The host, or as much of it as one owner has. The names of this machine end in
/// `localhost`, and the one before it is somebody's.
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
