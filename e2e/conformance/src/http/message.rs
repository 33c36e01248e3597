//! Requests as they are sent, responses as they arrive.

use reqwest::Method;
use serde_json::Value;

use crate::mask;

/// A request to the broker.
#[derive(Debug, Clone)]
pub(crate) struct RawRequest {
    pub(crate) method: Method,
    /// With the query, if any.
    pub(crate) path: String,
    pub(crate) body: Body,
    /// The whole value of the header.
    pub(crate) authorization: Option<String>,
}

/// The body of a request.
#[derive(Debug, Clone)]
pub(crate) enum Body {
    Empty,
    Json(Value),
    /// A media type, and text that need not be of it.
    Raw(&'static str, String),
}

/// A response, whatever it contains.
#[derive(Debug, Clone)]
pub(crate) struct RawResponse {
    pub(crate) status: u16,
    pub(crate) media_type: String,
    pub(crate) location: Option<String>,
    /// The values of Set-Cookie.
    pub(crate) cookies: Vec<String>,
    pub(crate) body: String,
}

/// A request, masked, with its response.
#[derive(Debug, Clone)]
pub(crate) struct Exchange {
    pub(crate) sent: String,
    pub(crate) response: RawResponse,
}

impl RawRequest {
    pub(crate) fn get(path: &str) -> Self {
        Self {
            method: Method::GET,
            path: path.to_owned(),
            body: Body::Empty,
            authorization: None,
        }
    }

    pub(crate) fn post(path: &str, body: Value) -> Self {
        Self {
            method: Method::POST,
            body: Body::Json(body),
            ..Self::get(path)
        }
    }

    pub(crate) fn with_authorization(self, value: impl Into<String>) -> Self {
        Self {
            authorization: Some(value.into()),
            ..self
        }
    }

    /// The request for a report.
    pub(crate) fn masked(&self) -> String {
        let authorization = match self.authorization.as_deref() {
            Some(value) => format!(" (Authorization: {})", mask::authorization(value)),
            None => String::new(),
        };
        let body = match &self.body {
            Body::Empty => String::new(),
            Body::Json(value) => format!(" {}", mask::body(&value.to_string())),
            Body::Raw(media_type, text) => format!(" {media_type} {}", mask::body(text)),
        };
        let url = mask::url(&self.path);
        format!("{} {url}{authorization}{body}", self.method)
    }
}

impl RawResponse {
    /// The body as JSON; null if it is none.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }

    pub(crate) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The response for a report.
    pub(crate) fn masked(&self) -> String {
        let location = match &self.location {
            Some(location) => format!(" to {}", mask::url(location)),
            None => String::new(),
        };
        let body = mask::body(&self.body);
        format!("{}{location} {} {body}", self.status, self.media_type)
    }
}
