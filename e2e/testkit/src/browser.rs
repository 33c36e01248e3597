//! A browser without a screen: it keeps cookies as browsers do, follows redirects one
//! by one and records each step, inherits fragments, and says where a navigation
//! began.

mod cookie_jar;
mod navigation;

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use reqwest::Method;
use reqwest::header::COOKIE;
use url::Url;

use crate::http::{Http, Response};
use cookie_jar::CookieJar;
pub use navigation::Initiator;
use navigation::{Navigation, resolve};

/// The origin of the consumer's pages in tests, where no server listens. A browser that
/// is sent there has arrived.
pub const UNSERVED: &str = "http://localhost:9";

/// The longest chain of redirects that a browser follows.
const MAX_REDIRECTS: usize = 20;

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

/// The fields of a link, or of a form without any.
const NO_FIELDS: Fields<'_> = &[];

impl Browser {
    /// A browser.
    pub fn new() -> Self {
        Self::with(NavigationHeaders::Sent)
    }

    /// A client that keeps cookies and follows redirects, without a browser's headers.
    pub fn plain() -> Self {
        Self::with(NavigationHeaders::Omitted)
    }

    /// A browser that sends by `http`.
    pub fn with_http(http: Http) -> Self {
        Self {
            http,
            ..Self::new()
        }
    }

    /// A client without a browser's headers that sends by `http`.
    pub fn plain_with_http(http: Http) -> Self {
        Self {
            http,
            ..Self::plain()
        }
    }

    /// Navigates from `page` instead of the consumer's page at [`UNSERVED`].
    #[must_use]
    pub fn on_page(self, page: &str) -> Self {
        let page = page.to_owned();
        Self { page, ..self }
    }

    fn with(sends: NavigationHeaders) -> Self {
        Self {
            http: Http::new(),
            sends,
            page: format!("{UNSERVED}/"),
            jar: Mutex::default(),
            steps: Mutex::default(),
        }
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
        let from = Initiator::Page(page);
        self.navigate(Method::GET, from, url, NO_FIELDS, end).await
    }

    /// Opens an address that the user typed, until it arrives.
    pub async fn type_in(&self, url: &str) -> NavigationEnd {
        let from = Initiator::Typed;
        self.navigate(Method::GET, from, url, NO_FIELDS, UNSERVED)
            .await
    }

    /// Presses the button of a form on `page`, and stops before an address that begins
    /// with `end`.
    pub async fn press_until(&self, page: &str, action: &str, end: &str) -> NavigationEnd {
        self.submit_until(page, action, NO_FIELDS, end).await
    }

    /// The same for a form with these fields.
    pub async fn submit_until(
        &self,
        page: &str,
        action: &str,
        fields: Fields<'_>,
        end: &str,
    ) -> NavigationEnd {
        let from = Initiator::Page(page);
        self.navigate(Method::POST, from, action, fields, end).await
    }

    /// Opens one address from the consumer's page, and follows no redirect.
    pub async fn open(&self, url: &str) -> Response {
        self.open_with(url, &[]).await
    }

    /// The same with more headers.
    pub async fn open_with(&self, url: &str, headers: &[(&str, &str)]) -> Response {
        let navigation = Navigation::from(Initiator::Page(&self.page));
        self.step(&Method::GET, url, &navigation, NO_FIELDS, headers)
            .await
    }

    /// Sends a HEAD request from the consumer's page.
    pub async fn head(&self, url: &str) -> Response {
        let navigation = Navigation::from(Initiator::Page(&self.page));
        self.step(&Method::HEAD, url, &navigation, NO_FIELDS, &[])
            .await
    }

    /// Presses the button of a form on `page`, and follows no redirect.
    pub async fn press(&self, page: &str, action: &str) -> Response {
        self.submit(page, action, NO_FIELDS).await
    }

    /// The same for a form with these fields.
    pub async fn submit(&self, page: &str, action: &str, fields: Fields<'_>) -> Response {
        let navigation = Navigation::from(Initiator::Page(page));
        self.step(&Method::POST, action, &navigation, fields, &[])
            .await
    }

    async fn navigate(
        &self,
        method: Method,
        from: Initiator<'_>,
        url: &str,
        fields: Fields<'_>,
        end: &str,
    ) -> NavigationEnd {
        let mut navigation = Navigation::from(from);
        let (mut method, mut url, mut fields) = (method, url.to_owned(), fields);
        for _ in 0..MAX_REDIRECTS {
            if url.starts_with(end) {
                return NavigationEnd {
                    url,
                    response: None,
                };
            }
            let response = self.step(&method, &url, &navigation, fields, &[]).await;
            let Some(next) = response.location().map(|next| resolve(&url, next)) else {
                let response = Some(response);
                return NavigationEnd { url, response };
            };
            assert!(
                [302, 303].contains(&response.status),
                "a {} would repeat a form's body",
                response.status
            );
            navigation.redirected(&url, &response);
            (method, url, fields) = (Method::GET, next, NO_FIELDS);
        }
        panic!("the redirects never end");
    }

    async fn step(
        &self,
        method: &Method,
        url: &str,
        navigation: &Navigation,
        fields: Fields<'_>,
        headers: &[(&str, &str)],
    ) -> Response {
        let mut request = self.http.request(method.clone(), url);
        if !fields.is_empty() {
            request = request.form(fields);
        }
        let cookies = self.jar().header(navigation.page(), method, &parsed(url));
        if !cookies.is_empty() {
            request = request.header(COOKIE.as_str(), cookies);
        }
        if self.sends == NavigationHeaders::Sent {
            for (name, value) in navigation.headers(method, url) {
                request = request.header(name, value);
            }
        }
        for (name, value) in headers {
            request = request.header(name, value);
        }
        let response = request.send().await;
        for cookie in response.set_cookies() {
            self.jar().store(&parsed(url), &cookie);
        }
        let sends_referer = self.sends == NavigationHeaders::Sent;
        locked(&self.steps).push(NavigationStep {
            method: method.clone(),
            url: url.to_owned(),
            referer: navigation
                .referer()
                .filter(|_| sends_referer)
                .map(ToOwned::to_owned),
            response: response.clone(),
        });
        response
    }

    /// Every step so far.
    pub fn steps(&self) -> Vec<NavigationStep> {
        locked(&self.steps).clone()
    }

    /// The last step to an address that begins with `url`.
    ///
    /// # Panics
    ///
    /// If there is none.
    #[track_caller]
    pub fn last_step_to(&self, url: &str) -> NavigationStep {
        let steps = self.steps();
        let step = steps
            .into_iter()
            .rev()
            .find(|step| step.url.starts_with(url));
        step.unwrap_or_else(|| panic!("no step to {url}"))
    }

    /// The cookies for the host of `url`: names and values.
    pub fn cookies(&self, url: &str) -> BTreeMap<String, String> {
        self.jar().of_host(&parsed(url))
    }

    /// Adds a cookie for the host of `url`, whatever its name and value.
    pub fn add_cookie(&self, url: &str, name: &str, value: &str) {
        self.jar().add(&parsed(url), name, value);
    }

    /// Another browser with a copy of all cookies.
    #[must_use]
    pub fn with_same_cookies(&self) -> Self {
        Self {
            http: self.http.clone(),
            page: self.page.clone(),
            jar: Mutex::new(self.jar().clone()),
            ..Self::with(self.sends)
        }
    }

    /// Deletes all cookies.
    pub fn clear_cookies(&self) {
        self.jar().clear();
    }

    fn jar(&self) -> MutexGuard<'_, CookieJar> {
        locked(&self.jar)
    }
}

impl Default for Browser {
    fn default() -> Self {
        Self::new()
    }
}

fn parsed(url: &str) -> Url {
    Url::parse(url).expect("an address")
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
