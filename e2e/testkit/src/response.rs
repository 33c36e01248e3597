//! An HTTP response, and assertions on it, byte for byte.

use std::fmt::{self, Debug};

use hyper::HeaderMap;
use serde_json::Value;

/// The body of a refusal with status 400.
pub const REFUSED: &str = r#"{"error":"request_failed","message":"The request was refused."}"#;

/// The body of a refusal with status 401.
pub const UNRECOGNISED: &str =
    r#"{"error":"request_failed","message":"The credentials were not recognised."}"#;

/// The result of a login that has not ended.
pub const PENDING: &str = r#"{"status":"pending"}"#;

/// The policy of the broker's pages: they load their own style sheet and are never framed.
const CONTENT_SECURITY_POLICY: &str =
    "default-src 'none'; style-src 'self'; base-uri 'none'; frame-ancestors 'none'";

/// Status, headers and body.
#[derive(Clone)]
pub struct Response {
    /// The status.
    pub status: u16,
    /// The headers.
    pub headers: HeaderMap,
    /// The body, byte for byte.
    pub body: Vec<u8>,
}

impl Response {
    /// Reads a response to its end.
    pub(crate) async fn read(response: reqwest::Response) -> reqwest::Result<Self> {
        Ok(Self {
            status: response.status().as_u16(),
            headers: response.headers().clone(),
            body: response.bytes().await?.into(),
        })
    }

    /// Whether a broker sent it: all of its responses have this header, and no others.
    pub fn is_a_brokers(&self) -> bool {
        self.headers.contains_key("x-request-id")
    }

    /// The one value of a header, if it is there.
    ///
    /// # Panics
    ///
    /// If the header is there twice.
    #[track_caller]
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut values = self.headers.get_all(name).iter();
        let value = values.next()?;
        assert!(values.next().is_none(), "{name} is there twice");
        Some(value.to_str().expect("our headers are ASCII"))
    }

    /// The address of a redirect.
    #[track_caller]
    pub fn location(&self) -> Option<&str> {
        self.header("location")
    }

    /// Every `Set-Cookie` header.
    pub fn set_cookies(&self) -> Vec<String> {
        let all = self.headers.get_all("set-cookie").iter();
        all.map(|value| value.to_str().expect("our cookies are ASCII").to_owned())
            .collect()
    }

    /// The body as text.
    ///
    /// # Panics
    ///
    /// If it is no UTF-8.
    #[track_caller]
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap_or_else(|_| panic!("no UTF-8: {self:?}"))
    }

    /// The body as JSON.
    ///
    /// # Panics
    ///
    /// If it is none.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("no JSON: {self:?}"))
    }

    /// Asserts the status and the exact body, and returns the response.
    ///
    /// # Panics
    ///
    /// If the assertion does not hold.
    #[track_caller]
    pub fn is(&self, status: u16, body: &str) -> &Self {
        assert_eq!((self.status, self.text()), (status, body));
        self
    }

    /// Asserts the status, a body of JSON and its content type.
    ///
    /// # Panics
    ///
    /// If the assertion does not hold.
    #[track_caller]
    pub fn is_json(&self, status: u16, body: &Value) {
        assert_eq!((self.status, &self.json()), (status, body), "{self:?}");
        assert_eq!(self.header("content-type"), Some("application/json"));
    }

    /// Asserts everything that a refusal of the API must be: its exact body, and all
    /// headers.
    ///
    /// # Panics
    ///
    /// If the assertion does not hold.
    #[track_caller]
    pub fn is_refusal(&self, status: u16) {
        let message = refusal_message(status);
        self.is(
            status,
            &format!(r#"{{"error":"request_failed","message":"{message}"}}"#),
        );
        assert_eq!(self.header("content-type"), Some("application/json"));
        self.has_security_headers();
        assert_eq!(self.location(), None);
        assert_eq!(self.set_cookies(), Vec::<String>::new());
    }

    /// Asserts that this is a page with this heading that leads nowhere.
    ///
    /// # Panics
    ///
    /// If the assertion does not hold.
    #[track_caller]
    pub fn is_page(&self, status: u16, heading: &str) {
        assert_eq!(self.status, status, "{self:?}");
        assert!(self.is_html(), "{self:?}");
        assert_eq!(self.location(), None);
        let heading = format!("<h1>{heading}</h1>");
        assert!(self.text().contains(&heading), "{heading} in {self:?}");
    }

    /// Asserts everything that a refusal on a page must be: the rule and the request
    /// are named, and all headers are there.
    ///
    /// # Panics
    ///
    /// If the assertion does not hold.
    #[track_caller]
    pub fn is_refusal_page(&self, status: u16, rule: &str) {
        assert_eq!(self.status, status, "{self:?}");
        assert!(self.is_html(), "{self:?}");
        let rule = format!("data-rule=\"{rule}\"");
        assert!(self.text().contains(&rule), "{rule} in {self:?}");
        let id = self.header("x-request-id").expect("a request id");
        assert!(self.text().contains(id), "the page names its request");
        self.has_security_headers();
        assert_eq!(self.location(), None);
        assert_eq!(self.set_cookies(), Vec::<String>::new());
    }

    /// Asserts that this redirects a browser to exactly `url`.
    ///
    /// # Panics
    ///
    /// If the assertion does not hold.
    #[track_caller]
    pub fn redirects_to(&self, url: &str) {
        assert_eq!(
            (self.status, self.location()),
            (303, Some(url)),
            "{:?}",
            self.text()
        );
        assert_eq!(self.text(), "");
    }

    /// Asserts the headers that every response of a broker carries, except for the
    /// confirmation page, which has policies of its own.
    ///
    /// # Panics
    ///
    /// If the assertion does not hold.
    #[track_caller]
    pub fn has_security_headers(&self) {
        assert_eq!(self.header("referrer-policy"), Some("no-referrer"));
        assert_eq!(
            self.header("content-security-policy"),
            Some(CONTENT_SECURITY_POLICY)
        );
        self.has_common_headers();
    }

    /// Asserts the headers that every response of a broker carries.
    ///
    /// # Panics
    ///
    /// If the assertion does not hold.
    #[track_caller]
    pub fn has_common_headers(&self) {
        assert_eq!(self.header("cache-control"), Some("no-store"));
        assert_eq!(self.header("x-content-type-options"), Some("nosniff"));
        let id = self.header("x-request-id").expect("a request id");
        assert_eq!(id.len(), 16, "{id}");
        assert_eq!(self.header("server"), None);
        let mut names = self.headers.keys();
        assert!(!names.any(|name| name.as_str().starts_with("access-control-")));
        // 307 and 308 would have a browser repeat a body at the new address.
        assert!(self.status == 303 || self.status / 100 != 3, "{self:?}");
        // On a redirect it would sever a popup from its opener.
        let opener = self.header("cross-origin-opener-policy");
        assert_eq!(opener, self.is_html().then_some("same-origin"));
    }

    fn is_html(&self) -> bool {
        self.header("content-type") == Some("text/html; charset=utf-8")
    }
}

impl Debug for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Response")
            .field("status", &self.status)
            .field("headers", &self.headers)
            .field("body", &String::from_utf8_lossy(&self.body))
            .finish()
    }
}

/// The generic sentence of a refusal, which does not say which rule it was.
#[track_caller]
fn refusal_message(status: u16) -> &'static str {
    match status {
        400 => "The request was refused.",
        401 => "The credentials were not recognised.",
        403 => "The request came from elsewhere.",
        404 => "There is nothing here.",
        405 => "The method is not allowed here.",
        410 => "This belongs to another browser.",
        413 => "The request is too large.",
        415 => "The request must be application/json.",
        429 => "There were too many requests.",
        500 => "The service failed.",
        503 => "The service cannot answer now.",
        other => panic!("no refusal has the status {other}"),
    }
}
