//! Sites and origins, as browsers compare them for cookies, `Referer` and `Sec-Fetch-Site`.

use url::{Host, Url};

use crate::url::is_loopback;

/// The relation of the page that makes a request to its target: `Sec-Fetch-Site`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Relation {
    /// The address bar, or a bookmark.
    None,
    /// The same scheme, host and port.
    SameOrigin,
    /// The same scheme and registrable domain.
    SameSite,
    /// Two sites.
    CrossSite,
}

impl Relation {
    /// The relation of a page, if there is one, to `target`.
    pub(super) fn between(page: Option<&Url>, target: &Url) -> Self {
        match page {
            None => Self::None,
            Some(page) if page.origin() == target.origin() => Self::SameOrigin,
            Some(page) if site(page) == site(target) => Self::SameSite,
            Some(_) => Self::CrossSite,
        }
    }

    /// The value of `Sec-Fetch-Site`.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::SameOrigin => "same-origin",
            Self::SameSite => "same-site",
            Self::CrossSite => "cross-site",
        }
    }
}

/// The scheme and the registrable domain. Ports do not count. A domain has two labels
/// here, which is wrong for `co.uk`: nearly every target is on this machine.
fn site(url: &Url) -> (String, String) {
    let domain = match url.host() {
        Some(Host::Domain(name)) => {
            let labels: Vec<_> = name.rsplitn(3, '.').take(2).collect();
            labels.into_iter().rev().collect::<Vec<_>>().join(".")
        }
        Some(address) => address.to_string(),
        None => String::new(),
    };
    (url.scheme().to_owned(), domain)
}

/// The value of `Referer` for a request from `page` to `target` under a policy of the
/// page. An unknown policy counts as the default, as in browsers.
pub(super) fn referer(page: &Url, policy: &str, target: &Url) -> Option<String> {
    let same_origin = page.origin() == target.origin();
    let downgrade = page.scheme() == "https" && target.scheme() == "http" && !is_loopback(target);
    let whole = || {
        let mut url = page.clone();
        url.set_fragment(None);
        url.to_string()
    };
    let origin = || format!("{}/", page.origin().ascii_serialization());
    // The last policy that the browser knows counts.
    let policy = policy.split(',').map(str::trim).rfind(|it| !it.is_empty());
    match policy.unwrap_or_default() {
        "no-referrer" => None,
        "same-origin" => same_origin.then(whole),
        "origin" => Some(origin()),
        "strict-origin" => (!downgrade).then(origin),
        "unsafe-url" => Some(whole()),
        "no-referrer-when-downgrade" => (!downgrade).then(whole),
        "origin-when-cross-origin" => Some(if same_origin { whole() } else { origin() }),
        _ if same_origin => Some(whole()),
        _ => (!downgrade).then(origin),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    #[test]
    fn ports_separate_origins_and_no_sites() {
        let app = url("http://localhost:5000/");
        let other_port = url("http://localhost:3000/");
        let broker = url("http://127.0.0.1:8000/");
        assert_eq!(
            Relation::between(Some(&app), &other_port),
            Relation::SameSite
        );
        assert_eq!(Relation::between(Some(&app), &broker), Relation::CrossSite);
        assert_eq!(Relation::between(Some(&app), &app), Relation::SameOrigin);
        assert_eq!(Relation::between(None, &app), Relation::None);
    }

    #[test]
    fn another_origin_learns_the_origin_and_never_the_path() {
        let page = url("http://localhost:5000/callback?code=secret");
        let broker = url("http://127.0.0.1:8000/");
        let shown = |policy| referer(&page, policy, &broker);
        assert_eq!(shown("").as_deref(), Some("http://localhost:5000/"));
        assert_eq!(shown("same-origin"), None);
        assert_eq!(shown("no-referrer"), None);
        assert_eq!(
            shown("no-referrer, origin").as_deref(),
            Some("http://localhost:5000/")
        );
    }
}
