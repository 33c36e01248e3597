//! Raw HTTP: one bounded request at a time, sent once, and counted.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use agent::backend::Call;
use agent::browser::{NavigationError, Page, Transport, Visit};
use agent::http::{self, HttpError, Reach, Response};
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION};
use reqwest::{Method, RequestBuilder};
use serde_json::Value;
use url::Url;

use crate::mask;
use crate::verdict::{Evidence, Stop};

/// The time that a server has for one response.
pub const RESPONSE_TIMEOUT: Duration = Duration::from_secs(20);

/// The number of requests that a run sends at most before its races.
pub const MAX_REQUESTS: usize = 400;

/// The part of a body that is read.
const MAX_BODY_BYTES: usize = 256 * 1024;

/// An HTTP client that counts its requests, also those of its browsers.
#[derive(Debug, Clone)]
pub(crate) struct Http {
    client: http::Http,
    sent: Arc<AtomicUsize>,
    /// The number of requests that it sends at most.
    limit: usize,
}

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

/// A request with its response.
#[derive(Debug)]
pub(crate) struct Exchange {
    pub(crate) evidence: Evidence,
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    /// Null if the body is no JSON.
    pub(crate) body: Value,
}

impl Http {
    /// A client for the server at `base_url`, which sends at most `limit` requests.
    ///
    /// # Errors
    ///
    /// If no client can be made.
    pub(crate) fn new(base_url: &str, limit: usize) -> Result<Self, String> {
        Ok(Self {
            client: http::Http::new(reach(base_url), RESPONSE_TIMEOUT)?,
            sent: Arc::default(),
            limit,
        })
    }

    /// The number of requests so far.
    pub(crate) fn sent(&self) -> usize {
        self.sent.load(Ordering::Relaxed)
    }

    /// Sends `request` to the broker at `base_url`.
    pub(crate) async fn exchange(
        &self,
        base_url: &str,
        request: &RawRequest,
    ) -> Result<Exchange, String> {
        let builder = self.build(base_url, request)?;
        let response = http::send(builder, MAX_BODY_BYTES).await;
        let response = response.map_err(|error| message(&error))?;
        let received = masked_response(&response);
        Ok(Exchange {
            evidence: Evidence {
                sent: request.masked(),
                received,
            },
            status: response.status,
            body: response.json(),
            headers: response.headers,
        })
    }

    /// A request to the broker at `base_url`, which counts as sent.
    pub(crate) fn build(
        &self,
        base_url: &str,
        request: &RawRequest,
    ) -> Result<RequestBuilder, String> {
        let url = format!("{base_url}{}", request.path);
        let client = self.client_for(&url)?;
        let mut builder = client.request(request.method.clone(), &url);
        builder = builder.header(ACCEPT, "application/json");
        if let Some(value) = &request.authorization {
            builder = builder.header(AUTHORIZATION, value);
        }
        Ok(match &request.body {
            Body::Empty => builder,
            Body::Json(value) => builder.json(value),
            Body::Raw(media_type, text) => {
                builder.header(CONTENT_TYPE, *media_type).body(text.clone())
            }
        })
    }

    /// The client for one request, which counts.
    pub(crate) fn client_for(&self, url: &str) -> Result<&reqwest::Client, String> {
        if self.sent() >= self.limit {
            return Err(format!("a run sends at most {} requests", self.limit));
        }
        self.sent.fetch_add(1, Ordering::Relaxed);
        self.client.client_for(url)
    }
}

impl Transport for Http {
    type Error = Stop;

    async fn send(&self, visit: &Visit, headers: HeaderMap) -> Result<Page, Stop> {
        let failed = |error: String| {
            let mut at = visit.url.clone();
            at.set_query(None);
            let at = mask::url(at.as_str());
            Stop::Harness(format!("the browser at {at}: {error}"))
        };
        let client = self.client_for(visit.address()).map_err(failed)?;
        let request = visit.request(client, visit.address(), headers);
        let page = agent::browser::read(request).await;
        let page = page.map_err(|error| failed(message(&error)))?;
        let leads_on = page.is_redirect() && page.headers.contains_key(LOCATION);
        if leads_on && visit.redirected(page.status, &page.headers).is_none() {
            let reason = "the browser was redirected to something that is no URL";
            return Err(Stop::blocked(reason));
        }
        Ok(page)
    }

    fn stop(&self, reason: NavigationError) -> Stop {
        match reason {
            NavigationError::EndlessRedirects(_) => {
                Stop::blocked("the browser was redirected 20 times and did not come back")
            }
            NavigationError::Forbidden(_) => Stop::Harness(reason.to_string()),
        }
    }
}

/// Servers on this machine are reached without a proxy.
pub(crate) fn reach(url: &str) -> Reach {
    match Url::parse(url) {
        Ok(url) if agent::url::is_loopback(&url) => Reach::Loopback,
        _ => Reach::Anywhere,
    }
}

/// Plain HTTP to `localhost` or a loopback IP address. A name below `localhost` is neither:
/// only browsers take it for this machine.
pub(crate) fn is_http_loopback(url: &str) -> bool {
    let is_exact = |url: &Url| url.domain().is_none_or(|it| it == "localhost");
    Url::parse(url)
        .is_ok_and(|it| it.scheme() == "http" && agent::url::is_loopback(&it) && is_exact(&it))
}

fn message(error: &HttpError) -> String {
    match error {
        HttpError::NoAnswer => format!("no answer within {} s", RESPONSE_TIMEOUT.as_secs()),
        _ => error.to_string(),
    }
}

/// A response for a report.
pub(crate) fn masked_response(response: &Response<impl AsRef<[u8]>>) -> String {
    let text = |name| {
        let value = response.headers.get(name)?;
        Some(String::from_utf8_lossy(value.as_bytes()))
    };
    let location = text(LOCATION).map(|it| format!(" to {}", mask::url(&it)));
    let media_type = text(CONTENT_TYPE).unwrap_or_default();
    let location = location.unwrap_or_default();
    let body = mask::body(&String::from_utf8_lossy(response.body.as_ref()));
    format!("{}{location} {media_type} {body}", response.status)
}

impl From<Call> for RawRequest {
    fn from(call: Call) -> Self {
        Self {
            method: call.method,
            path: call.path.to_owned(),
            body: call.body.map_or(Body::Empty, Body::Json),
            authorization: call.token.map(|token| format!("Bearer {token}")),
        }
    }
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

impl Exchange {
    pub(crate) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// A header, whatever its bytes; empty if there is none.
    pub(crate) fn header(&self, name: reqwest::header::HeaderName) -> Cow<'_, str> {
        let value = self.headers.get(name).map(HeaderValue::as_bytes);
        value.map(String::from_utf8_lossy).unwrap_or_default()
    }
}
