//! A navigation as a browser knows it: its beginning and its redirects.

use reqwest::Method;
use url::Url;

use super::cookie_jar::is_same_site;
use super::parsed;
use crate::http::Response;

/// The beginning of a navigation.
#[derive(Debug, Clone, Copy)]
pub enum Initiator<'a> {
    /// On a page, by its address.
    Page(&'a str),
    /// In the address bar: the address was typed, or pasted.
    Typed,
}

/// A navigation and the redirects that it went through.
pub(super) struct Navigation {
    page: Option<Url>,
    referer: Option<String>,
    site: &'static str,
}

impl From<Initiator<'_>> for Navigation {
    fn from(initiator: Initiator<'_>) -> Self {
        let page = match initiator {
            Initiator::Page(page) => Some(parsed(page)),
            Initiator::Typed => None,
        };
        Self {
            // Across origins a browser names the origin alone, by default.
            referer: page
                .as_ref()
                .map(|page| format!("{}/", page.origin().ascii_serialization())),
            page,
            site: "same-origin",
        }
    }
}

impl Navigation {
    /// The page where it began.
    pub(super) fn page(&self) -> Option<&Url> {
        self.page.as_ref()
    }

    /// The value of `Referer`.
    pub(super) fn referer(&self) -> Option<&str> {
        self.referer.as_deref()
    }

    /// Records a redirect: it may forbid naming the page, and taints the site for good.
    pub(super) fn redirected(&mut self, url: &str, response: &Response) {
        self.site = self.site_at(url);
        if response.header("referrer-policy") == Some("no-referrer") {
            self.referer = None;
        }
    }

    /// The headers that a browser adds to a request for `url`.
    pub(super) fn headers(&self, method: &Method, url: &str) -> Vec<(&'static str, String)> {
        let mut headers = vec![
            ("accept", "text/html,application/xhtml+xml,*/*;q=0.8".into()),
            ("sec-fetch-dest", "document".into()),
            ("sec-fetch-mode", "navigate".into()),
            ("sec-fetch-user", "?1".into()),
            ("sec-fetch-site", self.site_at(url).into()),
        ];
        if let Some(referer) = &self.referer {
            headers.push(("referer", referer.clone()));
        }
        match &self.page {
            Some(page) if method == Method::POST => {
                headers.push(("origin", page.origin().ascii_serialization()));
            }
            _ => {}
        }
        headers
    }

    fn site_at(&self, url: &str) -> &'static str {
        let Some(page) = &self.page else {
            return "none";
        };
        let url = parsed(url);
        if self.site == "cross-site" || !is_same_site(page, &url) {
            "cross-site"
        } else if self.site == "same-site" || page.origin() != url.origin() {
            "same-site"
        } else {
            "same-origin"
        }
    }
}

/// The address of `location` as seen from `url`. A redirect without a fragment inherits
/// that of `url`.
pub(super) fn resolve(url: &str, location: &str) -> String {
    let here = parsed(url);
    let mut next = here.join(location).expect("an address");
    if let (None, Some(fragment)) = (next.fragment(), here.fragment()) {
        next.set_fragment(Some(fragment));
        return next.into();
    }
    if next.fragment() == Some("") {
        // An empty one stops the inheritance and leaves nothing behind.
        next.set_fragment(None);
        return next.into();
    }
    // Not through the URL parser: an exact address is compared byte by byte.
    match Url::parse(location) {
        Ok(_) => location.to_owned(),
        Err(_) => next.into(),
    }
}
