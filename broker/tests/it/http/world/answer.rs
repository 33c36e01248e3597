//! What the broker answered, and what is expected of it.

use reqwest::RequestBuilder;
use reqwest::header::HeaderMap;
use serde_json::Value;

/// What a page of ours may load, and who may frame it.
const POLICY: &str =
    "default-src 'none'; style-src 'self'; base-uri 'none'; frame-ancestors 'none'";

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) async fn to(request: RequestBuilder) -> Self {
        let response = request.send().await.unwrap();
        Self {
            status: response.status().as_u16(),
            headers: response.headers().clone(),
            body: response.text().await.unwrap(),
        }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    pub(crate) fn location(&self) -> Option<&str> {
        self.header("location")
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    pub(crate) fn set_cookies(&self) -> Vec<String> {
        let all = self.headers.get_all("set-cookie").iter();
        all.map(|value| value.to_str().unwrap().to_owned())
            .collect()
    }

    #[track_caller]
    pub(crate) fn is(&self, status: u16, body: &Value) {
        assert_eq!((self.status, self.json()), (status, body.clone()));
        assert_eq!(self.header("content-type"), Some("application/json"));
    }

    /// Checks everything that a refusal by the API must be.
    #[track_caller]
    pub(crate) fn is_refused(&self, status: u16) {
        assert_eq!(self.status, status, "{}", self.body);
        assert_eq!(self.header("content-type"), Some("application/json"));
        let body = self.json();
        let members: Vec<_> = body.as_object().unwrap().keys().collect();
        assert_eq!(members, ["error", "message"]);
        assert_eq!(body["error"], "request_failed");
        assert!(body["message"].as_str().unwrap().ends_with('.'));
        self.is_complete();
        assert_eq!(self.location(), None);
        assert_eq!(self.set_cookies(), Vec::<String>::new());
    }

    /// Checks everything that a refusal on a page must be.
    #[track_caller]
    pub(crate) fn is_refusal_page(&self, status: u16, rule: &str) {
        assert_eq!(self.status, status, "{}", self.body);
        assert_eq!(
            self.header("content-type"),
            Some("text/html; charset=utf-8")
        );
        assert!(
            self.body.contains(&format!("data-rule=\"{rule}\"")),
            "{}",
            self.body
        );
        let id = self.header("x-request-id").unwrap();
        assert!(self.body.contains(id), "the page names its request");
        self.is_complete();
        assert_eq!(self.location(), None);
        assert_eq!(self.set_cookies(), Vec::<String>::new());
    }

    /// Checks the headers that every answer carries, but for the page that asks.
    #[track_caller]
    pub(crate) fn is_complete(&self) {
        self.is_complete_but_for_its_policies();
        assert_eq!(self.header("referrer-policy"), Some("no-referrer"));
        assert_eq!(self.header("content-security-policy"), Some(POLICY));
    }

    /// Checks the headers that every answer carries.
    #[track_caller]
    pub(crate) fn is_complete_but_for_its_policies(&self) {
        assert_eq!(self.header("cache-control"), Some("no-store"));
        assert_eq!(self.header("x-content-type-options"), Some("nosniff"));
        let id = self.header("x-request-id").unwrap();
        assert_eq!(id.len(), 16, "{id}");
        assert_eq!(self.header("server"), None);
        let mut names = self.headers.keys().map(reqwest::header::HeaderName::as_str);
        assert!(!names.any(|name| name.starts_with("access-control-")));
        // 307 and 308 would have a browser repeat a body at the new address.
        assert!(self.status == 303 || self.status / 100 != 3, "{self:?}");
        // On a redirect it would sever a popup from its opener.
        let is_page = self.header("content-type") == Some("text/html; charset=utf-8");
        let opener = self.header("cross-origin-opener-policy");
        assert_eq!(opener, is_page.then_some("same-origin"));
    }

    /// Checks that the browser is sent exactly there.
    #[track_caller]
    pub(crate) fn goes_to(&self, location: &str) {
        assert_eq!((self.status, self.location()), (303, Some(location)));
        assert_eq!(self.body, "");
        self.is_complete();
    }
}
