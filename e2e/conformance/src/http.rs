//! Requests as they are sent, answers as they come: raw, bounded, one at a time.

use std::error::Error as _;
use std::sync::OnceLock;
use std::time::Duration;

use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, COOKIE, LOCATION, SET_COOKIE};
use reqwest::{Client, ClientBuilder, Method, RequestBuilder};
use serde_json::Value;

use super::{expect, mask};

/// How long one answer is waited for.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// How many requests a run sends at most.
pub const MOST_REQUESTS: usize = 400;

/// As much of an answer as is read.
const MOST_BYTES: usize = 256 * 1024;

/// A request to the broker.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) method: Method,
    /// With the query, if any.
    pub(crate) path: String,
    pub(crate) body: Body,
    /// The whole value of the header.
    pub(crate) authorization: Option<String>,
}

/// What a request carries.
#[derive(Debug, Clone)]
pub(crate) enum Body {
    Nothing,
    Json(Value),
    /// A media type, and text that need not be of it.
    Raw(&'static str, String),
}

/// What came back.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) media_type: String,
    pub(crate) location: Option<String>,
    pub(crate) cookies: Vec<String>,
    pub(crate) body: String,
}

/// A request with its answer.
#[derive(Debug, Clone)]
pub(crate) struct Exchange {
    pub(crate) sent: String,
    pub(crate) answer: Answer,
}

/// Who sends.
#[derive(Debug)]
pub(crate) struct Http {
    /// What stands on this machine is not asked for through a proxy.
    is_local: bool,
    plain: Client,
    /// Made when it is needed: reading the machine's certificates takes long.
    encrypted: OnceLock<Client>,
    sent: usize,
}

impl Call {
    pub(crate) fn get(path: &str) -> Self {
        Self {
            method: Method::GET,
            path: path.to_owned(),
            body: Body::Nothing,
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

    fn described(&self) -> String {
        let authorization = match self.authorization.as_deref() {
            Some(value) => format!(" (Authorization: {})", mask::authorization(value)),
            None => String::new(),
        };
        let body = match &self.body {
            Body::Nothing => String::new(),
            Body::Json(value) => format!(" {}", mask::body(&value.to_string())),
            Body::Raw(media_type, text) => format!(" {media_type} {}", mask::body(text)),
        };
        format!(
            "{} {}{authorization}{body}",
            self.method,
            mask::url(&self.path)
        )
    }
}

impl Answer {
    /// The body as JSON; null if it is none.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }

    pub(crate) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    pub(crate) fn described(&self) -> String {
        let location = match &self.location {
            Some(location) => format!(" to {}", mask::url(location)),
            None => String::new(),
        };
        let body = mask::body(&self.body);
        format!("{}{location} {} {body}", self.status, self.media_type)
    }
}

impl Http {
    /// For a broker at `base_url`.
    ///
    /// # Errors
    ///
    /// When no client can be made.
    pub(crate) fn new(base_url: &str) -> Result<Self, String> {
        let is_local = base_url.starts_with("http:") && expect::plain_url(base_url).is_ok();
        Ok(Self {
            is_local,
            plain: made(builder(is_local).tls_certs_only([]))?,
            encrypted: OnceLock::new(),
            sent: 0,
        })
    }

    /// Who can speak to `url`.
    fn client(&self, url: &str) -> Result<&Client, String> {
        if url.starts_with("http:") {
            return Ok(&self.plain);
        }
        match self.encrypted.get() {
            Some(client) => Ok(client),
            None => {
                let client = made(builder(self.is_local))?;
                Ok(self.encrypted.get_or_init(|| client))
            }
        }
    }

    /// How many requests were sent.
    pub(crate) fn sent(&self) -> usize {
        self.sent
    }

    /// Sends `call` to the broker at `base_url`.
    pub(crate) async fn call(&mut self, base_url: &str, call: &Call) -> Result<Exchange, String> {
        let url = format!("{base_url}{}", call.path);
        let mut request = self
            .client(&url)?
            .request(call.method.clone(), url)
            .header(ACCEPT, "application/json");
        if let Some(value) = &call.authorization {
            request = request.header(AUTHORIZATION, value);
        }
        let request = match &call.body {
            Body::Nothing => request,
            Body::Json(value) => request.json(value),
            Body::Raw(media_type, text) => {
                request.header(CONTENT_TYPE, *media_type).body(text.clone())
            }
        };
        Ok(Exchange {
            sent: call.described(),
            answer: self.count_and_send(request).await?,
        })
    }

    /// A browser's visit of `url`.
    pub(crate) async fn visit(&mut self, url: &str, cookies: &str) -> Result<Answer, String> {
        let mut request = self.client(url)?.get(url).header(ACCEPT, "text/html");
        if !cookies.is_empty() {
            request = request.header(COOKIE, cookies);
        }
        self.count_and_send(request).await
    }

    /// A JSON call of our own helpers, which no bound is needed for.
    pub(crate) async fn side_call(
        &self,
        method: Method,
        url: &str,
        body: Option<&Value>,
    ) -> Result<Answer, String> {
        let request = self.client(url)?.request(method, url);
        send(match body {
            Some(body) => request.json(body),
            None => request,
        })
        .await
    }

    async fn count_and_send(&mut self, request: RequestBuilder) -> Result<Answer, String> {
        if self.sent >= MOST_REQUESTS {
            return Err(format!("a run sends at most {MOST_REQUESTS} requests"));
        }
        self.sent += 1;
        send(request).await
    }
}

fn builder(is_local: bool) -> ClientBuilder {
    let builder = Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        // What may be done once is never sent again by anybody but a test.
        .retry(reqwest::retry::never())
        .timeout(PATIENCE);
    if is_local {
        builder.no_proxy()
    } else {
        builder
    }
}

fn made(builder: ClientBuilder) -> Result<Client, String> {
    builder
        .build()
        .map_err(|error| format!("no HTTP client can be made here: {}", cause(&error)))
}

async fn send(request: RequestBuilder) -> Result<Answer, String> {
    read(request).await.map_err(|error| spoken(&error))
}

async fn read(request: RequestBuilder) -> reqwest::Result<Answer> {
    let mut response = request.send().await?;
    let header = |name| {
        let value = response.headers().get(name)?;
        Some(String::from_utf8_lossy(value.as_bytes()).into_owned())
    };
    let media_type = header(CONTENT_TYPE).unwrap_or_default();
    let location = header(LOCATION);
    let cookies = response.headers().get_all(SET_COOKIE);
    let cookies = cookies.iter().filter_map(|it| it.to_str().ok());
    let cookies = cookies.map(str::to_owned).collect();
    let status = response.status().as_u16();
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        body.extend_from_slice(&chunk);
        if body.len() > MOST_BYTES {
            body.truncate(MOST_BYTES);
            break;
        }
    }
    Ok(Answer {
        status,
        media_type,
        location,
        cookies,
        body: String::from_utf8_lossy(&body).into_owned(),
    })
}

/// What went wrong with a call, for a person. Never its URL, which may bear a
/// secret.
fn spoken(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        format!("no answer within {} s", PATIENCE.as_secs())
    } else if error.is_connect() {
        format!("no connection: {}", cause(error))
    } else if error.is_builder() {
        format!("that cannot be sent: {}", cause(error))
    } else {
        format!("the exchange broke off: {}", cause(error))
    }
}

/// The innermost reason, where it is said best.
fn cause(error: &reqwest::Error) -> String {
    let mut reason = error.source();
    while let Some(deeper) = reason.and_then(std::error::Error::source) {
        reason = Some(deeper);
    }
    reason.map_or_else(|| "for no known reason".to_owned(), ToString::to_string)
}
