//! The cookies of one browser, with the rules that decide which request carries which.

use std::time::Duration;

use reqwest::header::{HeaderMap, SET_COOKIE};
use url::Url;

use super::site::Relation;
use crate::time;
use crate::url::is_loopback;

/// A cookie, as `Set-Cookie` described it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cookie {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
    /// The host that receives it.
    pub host: String,
    /// Whether hosts below receive it, too.
    pub has_domain: bool,
    /// The path below which it is sent.
    pub path: String,
    /// Whether only a trustworthy address receives it.
    pub is_secure: bool,
    /// Whether it is hidden from scripts.
    pub is_http_only: bool,
    /// As written; `None` is treated as Lax, but comes with forms of other sites, too.
    pub same_site: Option<SameSite>,
    /// The life that the server gave it, by `Max-Age` or else by `Expires`; none for a
    /// cookie of the browser's session.
    pub life: Option<Duration>,
}

/// The requests from other sites that carry a cookie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of the attribute's values")]
pub enum SameSite {
    Strict,
    Lax,
    None,
}

/// The request for which cookies are chosen.
#[derive(Debug, Clone, Copy)]
pub(super) struct CookieRequest<'a> {
    /// The address that is asked for.
    pub(super) url: &'a Url,
    /// The relation to it of the page that asks.
    pub(super) relation: Relation,
    /// Whether the answer becomes the page in the window.
    pub(super) is_document: bool,
    /// Whether the request is a visit by GET or HEAD: Lax cookies are sent with those
    /// from other sites.
    pub(super) is_visit: bool,
}

/// The cookies of one host that a browser keeps, as many as Chromium.
const MAX_COOKIES: usize = 180;

/// The cookies of one browser.
#[derive(Debug, Clone, Default)]
pub struct CookieJar(Vec<Cookie>);

impl Cookie {
    /// Parses a `Set-Cookie` of `url`; `None` if a browser would refuse it.
    pub fn parse(line: &str, url: &Url) -> Option<Self> {
        let mut parts = line.split(';');
        let pair = parts.next()?;
        let (name, value) = pair.split_once('=').unwrap_or(("", pair));
        let mut cookie = Self {
            name: name.trim().to_owned(),
            value: value.trim().to_owned(),
            host: url.host_str()?.to_owned(),
            has_domain: false,
            path: default_path(url),
            is_secure: false,
            is_http_only: false,
            same_site: None,
            life: None,
        };
        let (mut max_age, mut until) = (None, None);
        for attribute in parts {
            let (name, value) = attribute.split_once('=').unwrap_or((attribute, ""));
            let (name, value) = (name.trim().to_ascii_lowercase(), value.trim());
            match name.as_str() {
                "max-age" => max_age = seconds(value).or(max_age),
                "expires" => until = life_until(value).or(until),
                _ => cookie.set(&name, value)?,
            }
        }
        cookie.life = max_age.or(until);
        cookie.is_allowed(url).then_some(cookie)
    }

    fn set(&mut self, attribute: &str, value: &str) -> Option<()> {
        match attribute {
            "secure" => self.is_secure = true,
            "httponly" => self.is_http_only = true,
            "path" if value.starts_with('/') => value.clone_into(&mut self.path),
            "samesite" => {
                self.same_site = match value.to_ascii_lowercase().as_str() {
                    "strict" => Some(SameSite::Strict),
                    "lax" => Some(SameSite::Lax),
                    "none" => Some(SameSite::None),
                    _ => None,
                }
            }
            "domain" if !value.is_empty() => {
                let domain = value.trim_start_matches('.').to_ascii_lowercase();
                let is_own = self.host == domain || self.host.ends_with(&format!(".{domain}"));
                if !is_own {
                    return None;
                }
                self.has_domain = true;
                self.host = domain;
            }
            _ => {}
        }
        Some(())
    }

    fn is_allowed(&self, url: &Url) -> bool {
        let is_https = url.scheme() == "https";
        let is_trustworthy = is_https || is_loopback(url);
        let none_needs_secure = self.same_site != Some(SameSite::None) || self.is_secure;
        let secure_prefix = !self.name.starts_with("__Secure-") || (self.is_secure && is_https);
        let host_prefix = !self.name.starts_with("__Host-")
            || (self.is_secure && is_https && !self.has_domain && self.path == "/");
        none_needs_secure && secure_prefix && host_prefix && (!self.is_secure || is_trustworthy)
    }

    fn is_for(&self, request: CookieRequest<'_>) -> bool {
        let url = request.url;
        let host = url.host_str().unwrap_or_default();
        let host_matches =
            host == self.host || (self.has_domain && host.ends_with(&format!(".{}", self.host)));
        let secure_matches = !self.is_secure || url.scheme() == "https" || is_loopback(url);
        let from_other_site = request.relation == Relation::CrossSite;
        let site_matches = match self.same_site {
            Some(SameSite::None) => true,
            Some(SameSite::Strict) => !from_other_site,
            Some(SameSite::Lax) => !from_other_site || request.is_visit,
            // Chromium sends a cookie that is younger than two minutes, as all are here,
            // with the forms of other sites unless it says Lax.
            None => !from_other_site || request.is_document,
        };
        host_matches && secure_matches && site_matches && path_matches(&self.path, url.path())
    }
}

impl CookieJar {
    /// Stores what a browser would of every `Set-Cookie` of an answer from `url`.
    pub fn receive(&mut self, headers: &HeaderMap, url: &Url) {
        for line in headers.get_all(SET_COOKIE) {
            let line = String::from_utf8_lossy(line.as_bytes());
            if let Some(cookie) = Cookie::parse(&line, url) {
                self.store(cookie);
            }
        }
    }

    /// Stores or deletes a cookie, as its `Set-Cookie` says.
    pub fn store(&mut self, cookie: Cookie) {
        self.0.retain(|known| {
            known.name != cookie.name || known.host != cookie.host || known.path != cookie.path
        });
        if cookie.life == Some(Duration::ZERO) {
            return;
        }
        let is_of_host = |it: &Cookie| it.host == cookie.host;
        if self.0.iter().filter(|it| is_of_host(it)).count() >= MAX_COOKIES
            && let Some(oldest) = self.0.iter().position(is_of_host)
        {
            self.0.remove(oldest);
        }
        self.0.push(cookie);
    }

    /// The same jar with those cookies alone for whose name `keeps` holds.
    pub fn only(&self, keeps: impl Fn(&str) -> bool) -> Self {
        let kept = self.0.iter().filter(|cookie| keeps(&cookie.name));
        Self(kept.cloned().collect())
    }

    /// The value of the `Cookie` header; `None` without cookies.
    pub(super) fn header(&self, request: CookieRequest<'_>) -> Option<String> {
        let mut cookies: Vec<_> = self.0.iter().filter(|it| it.is_for(request)).collect();
        // The longest path first, as browsers send them.
        cookies.sort_by_key(|cookie| usize::MAX - cookie.path.len());
        let pairs: Vec<_> = cookies
            .iter()
            .map(|it| format!("{}={}", it.name, it.value))
            .collect();
        (!pairs.is_empty()).then(|| pairs.join("; "))
    }

    /// The cookies that `url` would receive from a page of its own.
    pub fn of(&self, url: &Url) -> Vec<Cookie> {
        let request = CookieRequest {
            url,
            relation: Relation::SameOrigin,
            is_document: true,
            is_visit: true,
        };
        let own = self.0.iter().filter(|it| it.is_for(request));
        own.cloned().collect()
    }

    /// Every cookie.
    pub fn all(&self) -> &[Cookie] {
        &self.0
    }
}

/// The value of `Max-Age`; what is no number is ignored, as in browsers.
fn seconds(value: &str) -> Option<Duration> {
    let seconds: i64 = value.parse().ok()?;
    Some(Duration::from_secs(u64::try_from(seconds).unwrap_or(0)))
}

/// The time up to the date of `Expires`, which may have hyphens; nothing for one that has
/// passed.
fn life_until(value: &str) -> Option<Duration> {
    let plain = || httpdate::parse_http_date(&value.replace('-', " "));
    let date = httpdate::parse_http_date(value).or_else(|_| plain()).ok()?;
    Some(date.duration_since(time::now()).unwrap_or_default())
}

fn default_path(url: &Url) -> String {
    match url.path().rfind('/') {
        Some(0) | None => "/".to_owned(),
        Some(end) => url.path()[..end].to_owned(),
    }
}

fn path_matches(cookie: &str, path: &str) -> bool {
    match path.strip_prefix(cookie) {
        Some(rest) => rest.is_empty() || rest.starts_with('/') || cookie.ends_with('/'),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn jar(url: &str, line: &str) -> CookieJar {
        let mut jar = CookieJar::default();
        if let Some(cookie) = Cookie::parse(line, &url.parse().unwrap()) {
            jar.store(cookie);
        }
        jar
    }

    fn sent(
        jar: &CookieJar,
        url: &str,
        relation: Relation,
        is_document: bool,
        is_visit: bool,
    ) -> bool {
        let url = url.parse().unwrap();
        let request = CookieRequest {
            url: &url,
            relation,
            is_document,
            is_visit,
        };
        jar.header(request).is_some()
    }

    const APP: &str = "http://localhost:5000/login";

    #[test]
    fn of_cookies_without_end_the_latest_are_kept() {
        let mut jar = CookieJar::default();
        for number in 0..1_000 {
            let cookie = Cookie::parse(&format!("c{number}=1"), &APP.parse().unwrap());
            jar.store(cookie.unwrap());
        }
        assert_eq!(jar.all().len(), MAX_COOKIES);
        assert_eq!(jar.all().last().unwrap().name, "c999");
    }

    #[test]
    fn a_cookie_comes_with_the_requests_for_which_its_samesite_allows_it() {
        use Relation::{CrossSite, SameOrigin};
        for (same_site, relation, is_document, is_visit, comes) in [
            ("; SameSite=Strict", CrossSite, true, true, false),
            ("; SameSite=Strict", SameOrigin, true, true, true),
            ("; SameSite=Lax", CrossSite, true, true, true),
            ("; SameSite=Lax", CrossSite, true, false, false),
            // A young one without SameSite comes with forms, and not with images.
            ("", CrossSite, true, false, true),
            ("", CrossSite, false, false, false),
        ] {
            let jar = jar(APP, &format!("sid=1; Path=/{same_site}"));
            let seen = sent(&jar, APP, relation, is_document, is_visit);
            assert_eq!(
                seen, comes,
                "{same_site} {relation:?} {is_document} {is_visit}"
            );
        }
    }

    #[test]
    fn a_cookie_ignores_ports_and_keeps_to_its_path() {
        let cookie = jar(APP, "sid=1; Path=/account");
        for (url, comes) in [
            ("http://localhost:3000/account/x", true),
            ("http://localhost:3000/accounts", false),
            ("http://127.0.0.1:5000/account", false),
        ] {
            assert_eq!(
                sent(&cookie, url, Relation::None, true, true),
                comes,
                "{url}"
            );
        }
    }

    fn life(attributes: &str) -> Option<Duration> {
        let line = format!("sid=1; Path=/; {attributes}");
        Cookie::parse(&line, &APP.parse().unwrap()).unwrap().life
    }

    #[test]
    fn a_cookie_lives_until_its_date_unless_it_has_an_age() {
        let far = "Expires=Thu, 31 Dec 2099 23:59:59 GMT";
        for date in [far, "expires=Thu, 31-Dec-2099 23:59:59 GMT"] {
            let years = life(date).map_or(0, |it| it.as_secs() / 86_400 / 366);
            assert!(years >= 10, "{date}");
        }
        for both in [format!("{far}; Max-Age=60"), format!("Max-Age=60; {far}")] {
            assert_eq!(life(&both), Some(Duration::from_secs(60)), "{both}");
        }
        // What is no date or no number is ignored, and not the cookie.
        for neither in ["Expires=tomorrow", "Max-Age=soon"] {
            assert_eq!(life(neither), None, "{neither}");
        }
    }

    #[test]
    fn what_a_browser_refuses_is_not_stored() {
        for refused in [
            "sid=1; SameSite=None",
            "__Host-sid=1; Path=/; Secure",
            "__Secure-sid=1; Secure",
            "sid=1; Domain=elsewhere.example",
        ] {
            assert!(jar(APP, refused).all().is_empty(), "{refused}");
        }
        let host = "__Host-sid=1; Path=/; Secure; SameSite=Lax";
        assert_eq!(jar("https://localhost:5000/", host).all().len(), 1);
    }

    #[test]
    fn a_cookie_of_no_age_deletes_its_namesake() {
        for end in [
            "sid=; Path=/; Max-Age=0",
            "sid=; Path=/; Max-Age=-1",
            "sid=; Path=/; Expires=Thu, 01 Jan 1970 00:00:00 GMT",
            "sid=; Path=/; Expires=Thu, 01-Jan-1970 00:00:01 GMT",
            "sid=; Path=/; Expires=Sun, 01 Nov 2020 08:00:00 GMT",
        ] {
            let mut jar = jar(APP, "sid=1; Path=/");
            jar.store(Cookie::parse(end, &APP.parse().unwrap()).unwrap());
            assert!(jar.all().is_empty(), "{end}");
        }
    }
}
