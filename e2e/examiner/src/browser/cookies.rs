//! The cookies of one browser, with the rules that decide which request carries which.

#[cfg(test)]
mod tests;

use std::time::Duration;

use url::Url;

use super::site::Relation;
use crate::time;

/// A cookie, as `Set-Cookie` described it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cookie {
    pub(crate) name: String,
    pub(crate) value: String,
    /// The host that receives it.
    pub(crate) host: String,
    /// Whether hosts below receive it, too.
    pub(crate) has_domain: bool,
    pub(crate) path: String,
    pub(crate) is_secure: bool,
    pub(crate) is_http_only: bool,
    /// As written; `None` is treated as Lax, but comes with forms of other sites, too.
    pub(crate) same_site: Option<SameSite>,
    /// The life that the server gave it, by `Max-Age` or else by `Expires`; none for a
    /// cookie of the browser's session.
    pub(crate) life: Option<Duration>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SameSite {
    Strict,
    Lax,
    None,
}

/// The request for which cookies are chosen.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CookieRequest<'a> {
    pub(crate) url: &'a Url,
    pub(crate) relation: Relation,
    /// Whether the answer becomes the page in the window.
    pub(crate) is_document: bool,
    /// Whether the request is a visit by GET or HEAD: Lax cookies are sent with those
    /// from other sites.
    pub(crate) is_visit: bool,
}

/// The cookies of one host that a browser keeps, as many as Chromium.
const MAX_COOKIES: usize = 180;

/// The cookies of one browser.
#[derive(Debug, Clone, Default)]
pub(crate) struct CookieJar(Vec<Cookie>);

impl Cookie {
    /// Parses a `Set-Cookie` of `url`; `None` if a browser would refuse it.
    pub(crate) fn parse(line: &str, url: &Url) -> Option<Self> {
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
        let is_trustworthy = is_https || super::site::is_loopback(url);
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
        let secure_matches =
            !self.is_secure || url.scheme() == "https" || super::site::is_loopback(url);
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
    /// Stores or deletes a cookie, as its `Set-Cookie` says.
    pub(crate) fn store(&mut self, cookie: Cookie) {
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
    pub(crate) fn only(&self, keeps: impl Fn(&str) -> bool) -> Self {
        let kept = self.0.iter().filter(|cookie| keeps(&cookie.name));
        Self(kept.cloned().collect())
    }

    /// The value of the `Cookie` header; `None` without cookies.
    pub(crate) fn header(&self, request: CookieRequest<'_>) -> Option<String> {
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
    pub(crate) fn of(&self, url: &Url) -> Vec<Cookie> {
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
    #[cfg(test)]
    pub(crate) fn all(&self) -> &[Cookie] {
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
