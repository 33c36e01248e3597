//! Raw HTTP: one bounded request at a time, sent once.

use std::error::Error as _;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use reqwest::header::{HeaderMap, LOCATION};
use reqwest::{Client, ClientBuilder, RequestBuilder};
use serde_json::Value;
use tokio_rustls::rustls::crypto::ring::default_provider;
use url::Url;

/// A client that reads the certificates of the machine only when it needs them, because
/// that takes long.
#[derive(Debug, Clone)]
pub struct Http {
    reach: Reach,
    timeout: Duration,
    plain: Client,
    /// Shared, so that it is made once.
    encrypted: Arc<OnceLock<Client>>,
}

/// The place of the servers that a client asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// This machine: no proxy is between.
    Loopback,
    /// Anywhere, through the proxy of the environment.
    Anywhere,
}

/// A response, whatever it contains.
#[derive(Debug, Clone)]
pub struct Response<B = Vec<u8>> {
    /// The address that was asked for.
    pub url: Url,
    /// The status.
    pub status: u16,
    /// The headers.
    pub headers: HeaderMap,
    /// The body, byte for byte, or the part of it that was read.
    pub body: B,
}

/// The reason for which there is no response. It never has the URL, which may contain a
/// secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HttpError {
    /// The time is up.
    #[error("no answer in time")]
    NoAnswer,
    /// Nothing listens, or TLS fails.
    #[error("no connection: {0}")]
    NoConnection(String),
    /// The request is none.
    #[error("the request cannot be sent: {0}")]
    Unsendable(String),
    /// The connection ended before the response did.
    #[error("the exchange broke off: {0}")]
    BrokenOff(String),
}

impl Http {
    /// A client that waits at most `timeout` for each response.
    ///
    /// # Errors
    ///
    /// If no client can be made here.
    pub fn new(reach: Reach, timeout: Duration) -> Result<Self, String> {
        let plain = builder(reach).timeout(timeout).tls_certs_only([]);
        Ok(Self {
            reach,
            timeout,
            plain: build(plain)?,
            encrypted: Arc::default(),
        })
    }

    /// The client for requests to `url`, which [`send`] sends.
    ///
    /// # Errors
    ///
    /// If no client can be made that speaks TLS.
    pub fn client_for(&self, url: &str) -> Result<&Client, String> {
        if url.starts_with("http:") {
            return Ok(&self.plain);
        }
        match self.encrypted.get() {
            Some(client) => Ok(client),
            None => {
                let client = build(builder(self.reach).timeout(self.timeout))?;
                Ok(self.encrypted.get_or_init(|| client))
            }
        }
    }
}

/// A builder of a client that sends each request once and follows no redirect.
pub fn builder(reach: Reach) -> ClientBuilder {
    // Fails if the process has one already.
    let _ = default_provider().install_default();
    let builder = Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        // A one-time exchange is never repeated; only a caller sends anything again.
        .retry(reqwest::retry::never());
    match reach {
        Reach::Loopback => builder.no_proxy(),
        Reach::Anywhere => builder,
    }
}

/// The client of `builder`.
///
/// # Errors
///
/// A sentence for a person, if there can be none.
pub fn build(builder: ClientBuilder) -> Result<Client, String> {
    builder
        .build()
        .map_err(|error| format!("no HTTP client can be made here: {}", cause(&error)))
}

/// Sends a request, and reads at most `max_body` bytes of the body.
///
/// # Errors
///
/// If there is no response, or its body ends early.
pub async fn send(request: RequestBuilder, max_body: usize) -> Result<Response, HttpError> {
    let mut response = request.send().await?;
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        body.extend_from_slice(&chunk);
        if body.len() > max_body {
            body.truncate(max_body);
            break;
        }
    }
    Ok(Response {
        url: response.url().clone(),
        status: response.status().as_u16(),
        headers: response.headers().clone(),
        body,
    })
}

impl<B> Response<B> {
    /// Whether the server has done what it was asked for.
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }
}

impl Response {
    /// The first value of a header.
    pub fn header(&self, name: &str) -> Option<String> {
        let value = self.headers.get(name)?;
        Some(String::from_utf8_lossy(value.as_bytes()).into_owned())
    }

    /// The address of a redirect, as it was written.
    pub fn location(&self) -> Option<String> {
        self.header(LOCATION.as_str())
    }

    /// The body as text; what is no UTF-8 is replaced.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON; null if it is none.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

impl HttpError {
    /// The error without its cause.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::NoAnswer => "no answer in time",
            Self::NoConnection(_) => "no connection",
            Self::Unsendable(_) => "the request cannot be sent",
            Self::BrokenOff(_) => "the connection broke off",
        }
    }
}

impl From<reqwest::Error> for HttpError {
    fn from(error: reqwest::Error) -> Self {
        match error {
            _ if error.is_timeout() => Self::NoAnswer,
            _ if error.is_connect() => Self::NoConnection(cause(&error)),
            _ if error.is_builder() => Self::Unsendable(cause(&error)),
            _ => Self::BrokenOff(cause(&error)),
        }
    }
}

/// The innermost error, which is the most precise one.
fn cause(error: &reqwest::Error) -> String {
    let mut reason = error.source();
    while let Some(deeper) = reason.and_then(std::error::Error::source) {
        reason = Some(deeper);
    }
    reason.map_or_else(|| "for no known reason".to_owned(), ToString::to_string)
}
