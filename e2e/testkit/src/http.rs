//! The HTTP client of every test.
//!
//! It sends one request at a time, as it is: no redirect is followed, nothing is sent
//! again, no proxy is asked. Every [`Response`] of a broker is checked as it is read:
//! the published contract must document it, and it must hold no secret outside the
//! places that the contract has for secrets.
//!
//! ```no_run
//! # async fn example() {
//! use testkit::http::Http;
//!
//! let http = Http::at("http://127.0.0.1:8000");
//! http.post("/v1/token").body("{").send().await.is_refusal(415);
//! # }
//! ```

use std::fmt::{self, Debug, Display};
use std::sync::Arc;
use std::time::Duration;

use agent::browser::Visit;
use agent::http::Reach;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, ClientBuilder, Method, RequestBuilder};
use serde::Serialize;

use crate::{leak_check, openapi};

pub use crate::response::{PENDING, REFUSED, Response, UNRECOGNISED};

/// A client with a base URL and the headers of each of its requests.
#[derive(Clone)]
pub struct Http {
    client: Client,
    base_url: String,
    listener: Option<String>,
    headers: HeaderMap,
    observer: Option<Observer>,
}

/// Receives method, URL and response of each exchange.
type Observer = Arc<dyn Fn(&Method, &str, &Response) + Send + Sync>;

/// A request that is not sent yet.
#[must_use = "a request does nothing until it is sent"]
pub struct Request {
    http: Http,
    builder: RequestBuilder,
}

impl Http {
    /// Sends requests to the URLs that they name.
    pub fn new() -> Self {
        Self::at("")
    }

    /// Sends requests for a path to `base_url`, and others to the URL they name.
    pub fn at(base_url: impl Into<String>) -> Self {
        Self {
            client: client(),
            base_url: base_url.into(),
            listener: None,
            headers: HeaderMap::new(),
            observer: None,
        }
    }

    /// Connects to `address` for requests to the base URL: a server may be configured
    /// with a URL at which it does not listen.
    #[must_use]
    pub fn listening_at(mut self, address: impl Display) -> Self {
        self.listener = Some(format!("http://{address}"));
        self
    }

    /// Sends by a client of the test's own, made by [`client_builder`].
    #[must_use]
    pub fn with_client(mut self, client: Client) -> Self {
        self.client = client;
        self
    }

    /// Adds a header to every request that does not set it.
    #[must_use]
    pub fn with_header(mut self, name: &'static str, value: &str) -> Self {
        let value = HeaderValue::from_str(value).expect("a header's value");
        self.headers.append(HeaderName::from_static(name), value);
        self
    }

    /// Shows every exchange to `observer`.
    #[must_use]
    pub fn with_observer(
        mut self,
        observer: impl Fn(&Method, &str, &Response) + Send + Sync + 'static,
    ) -> Self {
        self.observer = Some(Arc::new(observer));
        self
    }

    /// The URL to which requests for a path go.
    pub fn base_url(&self) -> &str {
        &self.base_url
    }

    /// A request to `target`, a path or a URL.
    pub fn request(&self, method: Method, target: impl AsRef<str>) -> Request {
        Request {
            builder: self.client.request(method, self.url(target.as_ref())),
            http: self.clone(),
        }
    }

    /// The request of a browser.
    pub(crate) fn visit(&self, visit: &Visit, headers: HeaderMap) -> Request {
        Request {
            builder: visit.request(&self.client, &self.url(visit.address()), headers),
            http: self.clone(),
        }
    }

    /// A GET request.
    pub fn get(&self, target: impl AsRef<str>) -> Request {
        self.request(Method::GET, target)
    }

    /// A POST request.
    pub fn post(&self, target: impl AsRef<str>) -> Request {
        self.request(Method::POST, target)
    }

    fn url(&self, target: &str) -> String {
        let (base, listener) = (&self.base_url, self.listener.as_ref());
        let listener = listener.unwrap_or(base);
        // A digit would be another port.
        match target.strip_prefix(base.as_str()) {
            Some(rest) if !base.is_empty() && !rest.starts_with(|c: char| c.is_ascii_digit()) => {
                format!("{listener}{rest}")
            }
            _ if target.starts_with('/') => format!("{listener}{target}"),
            _ => target.to_owned(),
        }
    }
}

impl Default for Http {
    fn default() -> Self {
        Self::new()
    }
}

impl Debug for Http {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Http").field(&self.base_url).finish()
    }
}

impl Request {
    /// Adds a header.
    pub fn header(self, name: impl AsRef<str>, value: impl AsRef<[u8]>) -> Self {
        self.map(|it| it.header(name.as_ref(), value.as_ref()))
    }

    /// Sets the body; no content type.
    pub fn body(self, body: impl Into<reqwest::Body>) -> Self {
        self.map(|it| it.body(body))
    }

    /// Sets a body of JSON, and its content type.
    pub fn json(self, body: &(impl Serialize + ?Sized)) -> Self {
        self.map(|it| it.json(body))
    }

    /// Sets the fields of a form as the body, and its content type.
    pub fn form(self, fields: &(impl Serialize + ?Sized)) -> Self {
        self.map(|it| it.form(fields))
    }

    /// Adds the header of a bearer token.
    pub fn bearer_auth(self, token: impl Display) -> Self {
        self.map(|it| it.bearer_auth(token))
    }

    /// Adds the header of a user name and a password.
    pub fn basic_auth(self, user: impl Display, password: Option<impl Display>) -> Self {
        self.map(|it| it.basic_auth(user, password))
    }

    /// Fails when the response is not complete by then.
    pub fn timeout(self, timeout: Duration) -> Self {
        self.map(|it| it.timeout(timeout))
    }

    fn map(self, change: impl FnOnce(RequestBuilder) -> RequestBuilder) -> Self {
        Self {
            builder: change(self.builder),
            ..self
        }
    }

    /// Sends it, and reads the response to its end.
    ///
    /// # Panics
    ///
    /// Without a complete response, and for one that a broker must not send.
    pub async fn send(self) -> Response {
        self.try_send().await.expect("a complete response")
    }

    /// Sends it, and reads the response to its end.
    ///
    /// # Errors
    ///
    /// If there is no complete response.
    ///
    /// # Panics
    ///
    /// For a response that a broker must not send.
    pub async fn try_send(self) -> reqwest::Result<Response> {
        let http = self.http.clone();
        let request = self.try_build()?;
        let (method, url) = (request.method().clone(), request.url().clone());
        let response = Response::read(http.client.execute(request).await?).await?;
        check(&response, &method, url.path());
        if let Some(observe) = &http.observer {
            observe(&method, url.as_str(), &response);
        }
        Ok(response)
    }

    /// The request, for a test that sends it by other means.
    ///
    /// # Panics
    ///
    /// If it is no request.
    pub fn build(self) -> reqwest::Request {
        self.try_build().expect("a request")
    }

    fn try_build(self) -> reqwest::Result<reqwest::Request> {
        let mut request = self.builder.build()?;
        for (name, value) in &self.http.headers {
            request.headers_mut().entry(name).or_insert(value.clone());
        }
        Ok(request)
    }
}

/// Asserts that the contract documents `response` to `method` at `path`, and that it
/// leaks no secret. A response that is no broker's passes.
fn check(response: &Response, method: &Method, path: &str) {
    if let Err(violation) = openapi::check(method, path, response) {
        panic!("the contract does not document {method} {path} with {response:?}: {violation}");
    }
    if let Some(leak) = leak_check::in_response(response) {
        panic!("{method} {path} leaks a secret: {leak} of {response:?}");
    }
}

/// A bare client for plain HTTP, whose responses are not checked.
///
/// # Panics
///
/// If the system has no means for one.
pub fn client() -> Client {
    // Nothing here speaks TLS; reading the machine's certificates takes long.
    let client = client_builder().tls_certs_only([]).build();
    client.expect("a client")
}

/// A client that sends each request once, and follows no redirect.
pub fn client_builder() -> ClientBuilder {
    agent::http::builder(Reach::Loopback)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_and_the_base_url_lead_to_the_listener_and_other_urls_do_not() {
        let http = Http::at("http://127.0.0.1:8000").listening_at("127.0.0.1:1");
        let listener = "http://127.0.0.1:1/login/x";
        assert_eq!(http.url("/login/x"), listener);
        assert_eq!(http.url("http://127.0.0.1:8000/login/x"), listener);
        for other in [
            "http://127.0.0.1:8010/login/x",
            "http://127.0.0.1:80001/login/x",
        ] {
            assert_eq!(http.url(other), other);
            assert_eq!(Http::new().url(other), other);
        }
    }
}
