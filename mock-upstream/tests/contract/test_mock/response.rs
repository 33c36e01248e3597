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
        Self::try_of(request).await.unwrap()
    }

    pub(crate) async fn try_of(request: RequestBuilder) -> Result<Self, reqwest::Error> {
        let response = request.send().await?;
        let (status, headers) = (response.status(), response.headers().clone());
        let bytes: Vec<u8> = response.bytes().await?.into();
        Ok(Self {
            status: status.as_u16(),
            headers,
            body: String::from_utf8_lossy(&bytes).into_owned(),
            bytes,
        })
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

    /// The names of the members, in alphabetical order.
    pub(crate) fn members(&self) -> String {
        let body = self.json();
        let mut names: Vec<_> = body.as_object().unwrap().keys().cloned().collect();
        names.sort();
        names.join(" ")
    }

    /// Whether this is JSON with an access token.
    pub(crate) fn is_granted(&self) -> bool {
        self.json()["access_token"].is_string()
    }

    /// The parameters of the callback; fails unless this is a redirect.
    #[track_caller]
    pub(crate) fn callback(&self) -> Params {
        let status = self.status;
        assert!(matches!(status, 302 | 303), "{status} {}", self.body);
        let location = Url::parse(self.header("location")).unwrap();
        Params(location.query_pairs().into_owned().collect())
    }

    /// Whether this is an HTML page with `text` and without a redirect.
    pub(crate) fn is_page(&self, status: u16, text: &str) -> bool {
        self.status == status
            && self.header("content-type") == "text/html; charset=utf-8"
            && self.header("location").is_empty()
            && self.body.contains(text)
    }

    #[track_caller]
    pub(crate) fn assert_page(&self, status: u16, text: &str) {
        assert!(self.is_page(status, text), "{} {}", self.status, self.body);
    }

    /// The status, the error and its description, as in `400 invalid_grant: Bad Request`.
    pub(crate) fn error(&self) -> String {
        let description = self.text("error_description");
        format!("{} {}: {description}", self.status, self.text("error"))
    }
}
