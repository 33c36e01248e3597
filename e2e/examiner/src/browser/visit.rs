//! A request of a browser, and the one that its answer leads to.

use reqwest::Method;
use reqwest::header::LOCATION;
use url::Url;

use super::Parties;
use super::json_answer;
use super::page::{Control, Page, encode};
use super::site::Relation;

/// A request that a page, or the address bar, makes.
#[derive(Debug, Clone)]
pub(crate) struct Visit {
    pub(crate) method: Method,
    pub(crate) url: Url,
    pub(crate) fields: Option<Vec<(String, String)>>,
    /// The page that makes the request, with its referrer policy; none for the address bar.
    pub(crate) from: Option<(Url, String)>,
    /// The value of `Sec-Fetch-Dest`: `document`, `image`.
    pub(crate) destination: &'static str,
    /// Whether a script makes the request, and goes where a JSON answer leads.
    pub(crate) is_by_script: bool,
    /// The JSON that a script sends in place of fields.
    pub(crate) json: Option<String>,
    /// Further headers.
    pub(crate) headers: Vec<(&'static str, String)>,
}

impl Visit {
    /// An address that is typed.
    pub(crate) fn typed(url: &Url) -> Self {
        Self {
            method: Method::GET,
            url: url.clone(),
            fields: None,
            from: None,
            destination: "document",
            is_by_script: false,
            json: None,
            headers: Vec::new(),
        }
    }

    /// A press of a link or button of `page`.
    pub(crate) fn press(page: &Page, control: &Control) -> Self {
        let from = Some((page.url.clone(), page.referrer_policy()));
        match control {
            Control::Link(link) => Self {
                from,
                ..Self::typed(&link.target)
            },
            Control::Button(form, index) => {
                let (url, fields) = form.press(*index);
                let mut visit = Self {
                    method: form.method.clone(),
                    from,
                    ..Self::typed(&url)
                };
                if form.method == Method::POST {
                    visit.fields = Some(fields);
                } else {
                    visit.url.set_query(Some(&encode(&fields)));
                }
                visit
            }
        }
    }

    /// The same request, made by a page of `origin`.
    pub(crate) fn by_page_of(mut self, origin: &str) -> Self {
        self.from = Url::parse(origin).ok().map(|url| (url, String::new()));
        self
    }

    pub(crate) fn with_method(self, method: Method) -> Self {
        Self { method, ..self }
    }

    /// With a further header, or another value of one; without it if the value is empty.
    pub(crate) fn with_header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    pub(super) fn relation(&self) -> Relation {
        Relation::between(self.from.as_ref().map(|(url, _)| url), &self.url)
    }

    /// The request that the answer `page` leads to by itself; none if it ends here.
    pub(super) fn after(&self, page: &Page, parties: &Parties) -> Option<Self> {
        if !matches!(page.status, 301..=303 | 307 | 308) {
            let by_script = || json_answer::address_in(page, parties);
            let target = page
                .refresh()
                .or_else(|| self.is_by_script.then(by_script).flatten())?;
            let from = Some((page.url.clone(), page.referrer_policy()));
            return Some(Self {
                from,
                ..Self::typed(&target)
            });
        }
        let location = page.headers.get(LOCATION)?.to_str().ok()?;
        let mut next = self.clone();
        next.url = page.url.join(location).ok()?;
        if next.url.fragment().is_none() {
            next.url.set_fragment(self.url.fragment());
        }
        // A redirect may tighten the policy of the page that began.
        let policy = page.header("referrer-policy");
        if let Some((_, its)) = next.from.as_mut().filter(|_| !policy.is_empty()) {
            *its = policy;
        }
        if matches!(page.status, 301..=303) {
            next.fields = None;
            next.json = None;
            if next.method != Method::HEAD {
                next.method = Method::GET;
            }
        }
        Some(next)
    }
}

/// The end of a navigation.
#[derive(Debug)]
pub(crate) enum Arrival {
    /// A page was shown.
    Page(Page),
    /// The address at which the navigation was to stop; it was not asked for.
    Stopped(Visit),
}
