//! A response with its complete body, and assertions about it.

use reqwest::RequestBuilder;
use serde_json::Value;
use url::Url;

use super::Params;

/// A response with its complete body.
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) body: String,
    pub(crate) bytes: Vec<u8>,
    headers: reqwest::header::HeaderMap,
}

impl Response {
    pub(crate) async fn of(request: RequestBuilder) -> Self {
        Self::read(request.send().await.unwrap()).await
    }

    async fn read(response: reqwest::Response) -> Self {
        let (status, headers) = (response.status(), response.headers().clone());
        let bytes: Vec<u8> = response.bytes().await.unwrap().into();
        Self {
            status: status.as_u16(),
            headers,
            body: String::from_utf8_lossy(&bytes).into_owned(),
            bytes,
        }
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .map_or("", |value| value.to_str().unwrap())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    pub(crate) fn text(&self, member: &str) -> String {
        self.json()[member].as_str().unwrap().to_owned()
    }

    /// The parameters of the callback; fails unless this is a redirect.
    #[track_caller]
    pub(crate) fn callback(&self) -> Params {
        assert!(
            matches!(self.status, 302 | 303),
            "{} {}",
            self.status,
            self.body
        );
        let location = Url::parse(self.header("location")).unwrap();
        Params(location.query_pairs().into_owned().collect())
    }

    /// Asserts that this is an HTML page with `error` and without a redirect.
    #[track_caller]
    pub(crate) fn assert_page(&self, status: u16, error: &str) {
        assert_eq!(self.status, status);
        assert_eq!(self.header("content-type"), "text/html; charset=utf-8");
        assert_eq!(self.header("location"), "");
        assert!(self.body.contains(error), "{}", self.body);
    }

    /// Asserts that this is exactly this error.
    #[track_caller]
    pub(crate) fn assert_error(&self, status: u16, error: &str, description: &str) {
        let body = self.json();
        assert_eq!(self.status, status);
        assert_eq!(body["error"], error);
        assert_eq!(body["error_description"], description);
    }
}
