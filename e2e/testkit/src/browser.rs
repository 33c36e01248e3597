//! A browser without a screen, for tests: the agent's cookies, headers and redirects, with
//! each step recorded and each response checked. It can be shared: several requests may be
//! under way at once.

use std::collections::BTreeMap;

use agent::browser::{Cookie, CookieJar, SameSite, Visit};
use parking_lot::Mutex;
use reqwest::Method;
use reqwest::header::HeaderMap;
use url::Url;

use crate::http::{Http, Response};

/// The origin of the consumer's pages in tests, where no server listens. A browser that
/// is sent there has arrived.
pub const UNSERVED: &str = "http://localhost:9";

/// The longest chain of redirects that a browser follows.
const MAX_REDIRECTS: usize = 20;

/// The size of the longest cookie that browsers keep.
const MAX_COOKIE_BYTES: usize = 4096;

/// A browser with its cookies and the steps that it has taken.
pub struct Browser {
    http: Http,
    sends: NavigationHeaders,
    page: String,
    jar: Mutex<CookieJar>,
    steps: Mutex<Vec<NavigationStep>>,
}

/// Whether a client sends what browsers send without being asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NavigationHeaders {
    /// `Sec-Fetch-*`, `Referer`, `Accept: text/html`.
    Sent,
    /// None of them: curl, or a test client.
    Omitted,
}

/// One request and its response.
#[derive(Debug, Clone)]
pub struct NavigationStep {
    /// The method of the request.
    pub method: Method,
    /// The URL of the request.
    pub url: String,
    /// The `Referer` of the request.
    pub referer: Option<String>,
    /// The response.
    pub response: Response,
}

/// The end of a chain of redirects.
#[derive(Debug, Clone)]
pub struct NavigationEnd {
    /// The address that the browser shows, with its fragment.
    pub url: String,
    /// The response there, unless the browser stopped before its request.
    pub response: Option<Response>,
}

/// The fields of a form.
type Fields<'a> = &'a [(&'a str, &'a str)];

impl Browser {
    /// A browser.
    pub fn new() -> Self {
        Self::with_http(Http::new())
    }

    /// A client that keeps cookies and follows redirects, without a browser's headers.
    pub fn plain() -> Self {
        Self::plain_with_http(Http::new())
    }

    /// A browser that sends by `http`.
    pub fn with_http(http: Http) -> Self {
        Self {
            http,
            sends: NavigationHeaders::Sent,
            page: format!("{UNSERVED}/"),
            jar: Mutex::default(),
            steps: Mutex::default(),
        }
    }

    /// A client without a browser's headers that sends by `http`.
    pub fn plain_with_http(http: Http) -> Self {
        Self {
            sends: NavigationHeaders::Omitted,
            ..Self::with_http(http)
        }
    }

    /// Navigates from `page` instead of the consumer's page at [`UNSERVED`].
    #[must_use]
    pub fn on_page(self, page: &str) -> Self {
        let page = page.to_owned();
        Self { page, ..self }
    }

    /// Follows a link on the consumer's page, until it arrives.
    pub async fn follow(&self, url: &str) -> NavigationEnd {
        self.follow_until(url, UNSERVED).await
    }

    /// The same, and stops before an address that begins with `end`.
    pub async fn follow_until(&self, url: &str, end: &str) -> NavigationEnd {
        self.follow_from(&self.page, url, end).await
    }

    /// Follows a link on `page`, and stops before an address that begins with `end`.
    pub async fn follow_from(&self, page: &str, url: &str, end: &str) -> NavigationEnd {
        self.navigate(link(page, url), end).await
    }

    /// Opens an address that the user typed, until it arrives.
    pub async fn type_in(&self, url: &str) -> NavigationEnd {
        self.navigate(typed(url), UNSERVED).await
    }

    /// Presses the button of a form on `page`, and stops before an address that begins
    /// with `end`.
    pub async fn press_until(&self, page: &str, action: &str, end: &str) -> NavigationEnd {
        self.navigate(form(page, action, &[]), end).await
    }

    /// Opens one address from the consumer's page, and follows no redirect.
    pub async fn open(&self, url: &str) -> Response {
        self.open_with(url, &[]).await
    }

    /// The same with more headers.
    pub async fn open_with(&self, url: &str, headers: &[(&str, &str)]) -> Response {
        self.step(&link(&self.page, url), headers).await
    }

    /// Sends a HEAD request from the consumer's page.
    pub async fn head(&self, url: &str) -> Response {
        let visit = link(&self.page, url).with_method(Method::HEAD);
        self.step(&visit, &[]).await
    }

    /// Presses the button of a form on `page`, and follows no redirect.
    pub async fn press(&self, page: &str, action: &str) -> Response {
        self.submit(page, action, &[]).await
    }

    /// The same for a form with these fields.
    pub async fn submit(&self, page: &str, action: &str, fields: Fields<'_>) -> Response {
        self.step(&form(page, action, fields), &[]).await
    }

    async fn navigate(&self, mut visit: Visit, end: &str) -> NavigationEnd {
        for _ in 0..MAX_REDIRECTS {
            if visit.address().starts_with(end) {
                return NavigationEnd {
                    url: visit.address().to_owned(),
                    response: None,
                };
            }
            let response = self.step(&visit, &[]).await;
            let Some(next) = visit.redirected(response.status, &response.headers) else {
                assert!(response.location().is_none(), "a redirect leads nowhere");
                return NavigationEnd {
                    url: visit.address().to_owned(),
                    response: Some(response),
                };
            };
            assert!(
                [302, 303].contains(&response.status),
                "a {} would repeat a form's body",
                response.status
            );
            visit = without_empty_fragment(next);
        }
        panic!("the redirects never end");
    }

    async fn step(&self, visit: &Visit, more: &[(&str, &str)]) -> Response {
        let headers = self.headers(visit);
        let mut request = self.http.visit(visit, headers.clone());
        for (name, value) in more {
            request = request.header(name, value);
        }
        let response = request.send().await;
        for line in response.set_cookies() {
            check_cookie(&visit.url, &line);
        }
        self.jar.lock().receive(&response.headers, &visit.url);
        let referer = headers.get("referer").and_then(|it| it.to_str().ok());
        self.steps.lock().push(NavigationStep {
            method: visit.method.clone(),
            url: visit.address().to_owned(),
            referer: referer.map(ToOwned::to_owned),
            response: response.clone(),
        });
        response
    }

    fn headers(&self, visit: &Visit) -> HeaderMap {
        let all = visit.headers(&self.jar.lock());
        if self.sends == NavigationHeaders::Sent {
            return all;
        }
        let sent = all
            .into_iter()
            .filter_map(|(name, value)| Some((name?, value)));
        sent.filter(|(name, _)| ["cookie", "content-type"].contains(&name.as_str()))
            .collect()
    }

    /// Every step so far.
    pub fn steps(&self) -> Vec<NavigationStep> {
        self.steps.lock().clone()
    }

    /// The cookies for the host of `url`: names and values.
    pub fn cookies(&self, url: &str) -> BTreeMap<String, String> {
        let cookies = self.jar.lock().of(&parsed(url)).into_iter();
        cookies.map(|it| (it.name, it.value)).collect()
    }

    /// Adds a cookie for the host of `url`, whatever its name and value. It is sent where
    /// one with `SameSite=Lax` is.
    pub fn add_cookie(&self, url: &str, name: &str, value: &str) {
        let host = parsed(url).host_str().expect("a host").to_owned();
        self.jar.lock().store(Cookie {
            name: name.to_owned(),
            value: value.to_owned(),
            host,
            has_domain: false,
            path: "/".to_owned(),
            is_secure: false,
            is_http_only: true,
            same_site: Some(SameSite::Lax),
            life: None,
        });
    }
}

impl Default for Browser {
    fn default() -> Self {
        Self::new()
    }
}

fn typed(url: &str) -> Visit {
    Visit::written(url).expect("an address")
}

/// A link on `page`, which names no more of itself than its origin.
fn link(page: &str, url: &str) -> Visit {
    let mut visit = typed(url);
    visit.from = Some((parsed(page), "origin".to_owned()));
    visit
}

fn form(page: &str, action: &str, fields: Fields<'_>) -> Visit {
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    let mut visit = link(page, action).with_method(Method::POST);
    visit.fields = (!fields.is_empty()).then(|| fields.iter().map(owned).collect());
    visit
}

/// An empty fragment stops the inheritance of one and leaves nothing behind.
fn without_empty_fragment(mut visit: Visit) -> Visit {
    if visit.url.fragment() == Some("") {
        visit.url.set_fragment(None);
    }
    visit
}

/// Asserts that a cookie says explicitly where it is sent, and is small enough. One that a
/// browser would not keep is a mistake of ours.
#[track_caller]
fn check_cookie(url: &Url, line: &str) {
    let cookie = Cookie::parse(line, url);
    let cookie = cookie.unwrap_or_else(|| panic!("no browser keeps {line}"));
    assert!(line.len() <= MAX_COOKIE_BYTES, "{} bytes", line.len());
    // Rocket's default is Strict, and browsers' own one has a hole of two minutes.
    assert!(cookie.same_site.is_some(), "no SameSite: {line}");
    assert!(cookie.is_http_only, "{line}");
    assert!(
        line.contains("; Path=/;") || line.ends_with("; Path=/"),
        "{line}"
    );
    assert!(!cookie.has_domain, "{line}");
    assert_eq!(cookie.is_secure, url.scheme() == "https", "{line}");
    let has_prefix = cookie.name.starts_with("__Host-");
    assert_eq!(cookie.is_secure, has_prefix, "{line}");
}

fn parsed(url: &str) -> Url {
    Url::parse(url).expect("an address")
}
