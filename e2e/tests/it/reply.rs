//! An answer as it crossed the wire, and what is expected of it byte for byte.

use reqwest::Method;
use reqwest::header::HeaderMap;
use serde_json::Value;

use crate::{published, sentinel};

pub(crate) const REFUSED: &str =
    r#"{"error":"request_failed","message":"The request was refused."}"#;
pub(crate) const UNRECOGNISED: &str =
    r#"{"error":"request_failed","message":"The credentials were not recognised."}"#;
pub(crate) const PENDING: &str = r#"{"status":"pending"}"#;

/// Status, headers and body.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl Reply {
    /// Reads the answer to a request by `method` to its end, holds it against the
    /// contract if it is a broker's, and looks for secrets that do not belong there.
    pub(crate) async fn read(
        method: &Method,
        response: reqwest::Response,
    ) -> reqwest::Result<Self> {
        let path = response.url().path().to_owned();
        let reply = Self {
            status: response.status().as_u16(),
            headers: response.headers().clone(),
            body: String::from_utf8_lossy(&response.bytes().await?).into_owned(),
        };
        published::check(method, &path, &reply);
        sentinel::sees(method, &path, &reply);
        Ok(reply)
    }

    /// The one value of a header, or nothing.
    #[track_caller]
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut values = self.headers.get_all(name).iter();
        let value = values.next()?;
        assert!(values.next().is_none(), "{name} comes twice");
        Some(value.to_str().expect("our headers are ASCII"))
    }

    pub(crate) fn location(&self) -> Option<&str> {
        self.header("location")
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("no JSON: {self:?}"))
    }

    /// Asserts status and body, and hands the reply back.
    #[track_caller]
    pub(crate) fn is(self, status: u16, body: &str) -> Self {
        assert_eq!((self.status, self.body.as_str()), (status, body));
        self
    }

    /// Asserts that this is an answer of the broker's API that refuses.
    #[track_caller]
    pub(crate) fn is_refused(&self) {
        assert_eq!((self.status, self.body.as_str()), (400, REFUSED));
    }

    /// Asserts that this is a page that a person can read, and no way onward.
    #[track_caller]
    pub(crate) fn is_page(&self, status: u16, title: &str) {
        assert_eq!(self.status, status, "{}", self.body);
        assert_eq!(
            self.header("content-type"),
            Some("text/html; charset=utf-8")
        );
        assert_eq!(self.location(), None);
        let heading = format!("<h1>{title}</h1>");
        assert!(self.body.contains(&heading), "{heading} in {}", self.body);
    }

    /// Asserts that this sends a browser to exactly `url`.
    #[track_caller]
    pub(crate) fn sends_to(&self, url: &str) {
        assert_eq!(
            (self.status, self.location()),
            (303, Some(url)),
            "{}",
            self.body
        );
        assert_eq!(self.body, "");
    }
}
