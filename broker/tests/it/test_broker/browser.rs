//! The client of a test broker, which checks the headers of every response, and testkit's
//! browser, for tests that name a broker's paths and look at each response.

use std::collections::BTreeMap;
use std::fmt::Display;

use testkit::browser;
use testkit::http::{Http, Response};

use super::requests::back_path;

/// A client of a broker with this base URL that listens at `address`. Besides what
/// testkit checks, every response must carry the headers that all of the broker's do.
pub(crate) fn checked_http(base_url: &str, address: impl Display) -> Http {
    let http = Http::at(base_url).listening_at(address);
    http.with_observer(|_, _, response| check_headers(response))
}

#[track_caller]
pub(super) fn check_headers(response: &Response) {
    // The confirmation page has policies of its own.
    if String::from_utf8_lossy(&response.body).contains("data-question=\"relay\"") {
        response.has_common_headers();
    } else {
        response.has_security_headers();
    }
}

/// A page of the consumer at `CALLBACK`.
const CONSUMER_PAGE: &str = "https://app.example/";

/// A browser of one broker. It stays where it is sent, except that it follows the
/// broker's own redirect over `/return`.
pub(crate) struct Browser {
    browser: browser::Browser,
    base_url: String,
    headers: Vec<(&'static str, &'static str)>,
}

impl Browser {
    /// A browser on a page of the consumer.
    pub(crate) fn new(http: &Http) -> Self {
        Self::on_page(http, CONSUMER_PAGE)
    }

    /// A browser on this page.
    pub(crate) fn on_page(http: &Http, page: &str) -> Self {
        let browser = browser::Browser::with_http(http.clone());
        Self::of(http, browser.on_page(page))
    }

    /// A client that keeps cookies and sends none of a browser's headers.
    pub(crate) fn plain(http: &Http) -> Self {
        Self::of(http, browser::Browser::plain_with_http(http.clone()))
    }

    fn of(http: &Http, browser: browser::Browser) -> Self {
        Self {
            browser,
            base_url: http.base_url().to_owned(),
            headers: Vec::new(),
        }
    }

    /// The same browser when another broker serves this base URL.
    pub(crate) fn moved_to(&self, http: &Http) -> Self {
        let moved = Self::new(http);
        moved.add_cookies_of(self);
        moved
    }

    /// The same browser, which sends one more header with every GET request.
    pub(crate) fn with_header(self, name: &'static str, value: &'static str) -> Self {
        self.with_headers(&[(name, value)])
    }

    /// The same browser, which sends these headers, too, with every GET request.
    pub(crate) fn with_headers(mut self, headers: &[(&'static str, &'static str)]) -> Self {
        self.headers.extend_from_slice(headers);
        self
    }

    /// Follows a link to `path`.
    pub(crate) async fn get(&self, path: &str) -> Response {
        let url = self.url(path);
        let response = self.browser.open_with(&url, &self.headers).await;
        self.past_return(response).await
    }

    /// Follows a link to the provider, and returns the path by which this browser comes
    /// back with a code.
    pub(crate) async fn to_provider(&self, path: &str) -> String {
        let redirect = self.get(path).await;
        assert_eq!(redirect.status, 303, "{redirect:?}");
        back_path(&redirect, "code=upstream-code")
    }

    /// Presses the button of a form on a page of the broker.
    pub(crate) async fn press(&self, path: &str) -> Response {
        let response = self.browser.press(&self.url("/"), &self.url(path)).await;
        self.past_return(response).await
    }

    /// Presses a button of the confirmation page at `path`, an address of a callback.
    pub(crate) async fn answer(&self, path: &str, button: &str) -> Response {
        let (page, action) = (self.url("/"), self.url(path));
        let fields = [("answer", button)];
        self.browser.submit(&page, &action, &fields).await
    }

    /// Returns from GitHub with this query, after `redirect` redirected to it.
    pub(crate) async fn come_back(&self, redirect: &Response, query: &str) -> Response {
        self.get(&back_path(redirect, query)).await
    }

    pub(crate) fn cookies(&self) -> BTreeMap<String, String> {
        self.browser.cookies(&self.base_url)
    }

    /// The value of the `Cookie` header.
    pub(crate) fn cookie_header(&self) -> String {
        let pairs = self.cookies().into_iter();
        let pairs: Vec<_> = pairs
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        pairs.join("; ")
    }

    /// Adds all cookies of another browser.
    pub(crate) fn add_cookies_of(&self, other: &Self) {
        for (name, value) in other.cookies() {
            self.add_cookie(&name, &value);
        }
    }

    pub(crate) fn add_cookie(&self, name: &str, value: &str) {
        self.browser.add_cookie(&self.base_url, name, value);
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base_url)
    }

    /// Follows a redirect over `/return`, which ends the fragment, and returns
    /// `response` with the location of the last redirect.
    async fn past_return(&self, mut response: Response) -> Response {
        let Some(own) = response
            .location()
            .filter(|it| it.starts_with(&self.base_url))
        else {
            return response;
        };
        let url = own.strip_suffix('#').expect("it ends any fragment");
        let next = self.browser.open(url).await;
        assert_eq!(next.status, 303, "{next:?}");
        let target = next.headers["location"].clone();
        response.headers.insert("location", target);
        response
    }
}
