//! Raw HTTP: one bounded request at a time, sent once.

mod message;

use std::error::Error as _;
use std::sync::OnceLock;
use std::time::Duration;

use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, COOKIE, LOCATION, SET_COOKIE};
use reqwest::{Client, ClientBuilder, Method, RequestBuilder};
use serde_json::Value;

use super::address;
pub(crate) use message::{Body, Exchange, RawRequest, RawResponse};

/// The time that a server has for one response.
pub const RESPONSE_TIMEOUT: Duration = Duration::from_secs(20);

/// The number of requests that a run sends at most.
pub const MAX_REQUESTS: usize = 400;

/// The part of a body that is read.
const MAX_BODY_BYTES: usize = 256 * 1024;

/// An HTTP client that counts its requests.
#[derive(Debug)]
pub(crate) struct Http {
    /// Servers on this machine are reached without a proxy.
    is_local: bool,
    plain: Client,
    /// Made on first use: reading the machine's certificates takes long.
    encrypted: OnceLock<Client>,
    sent: usize,
}

impl Http {
    /// A client for the server at `base_url`.
    ///
    /// # Errors
    ///
    /// If no client can be made.
    pub(crate) fn new(base_url: &str) -> Result<Self, String> {
        let is_local = address::is_http_loopback(base_url);
        Ok(Self {
            is_local,
            plain: build(builder(is_local).tls_certs_only([]))?,
            encrypted: OnceLock::new(),
            sent: 0,
        })
    }

    fn client_for(&self, url: &str) -> Result<&Client, String> {
        if url.starts_with("http:") {
            return Ok(&self.plain);
        }
        match self.encrypted.get() {
            Some(client) => Ok(client),
            None => {
                let client = build(builder(self.is_local))?;
                Ok(self.encrypted.get_or_init(|| client))
            }
        }
    }

    /// The number of requests so far.
    pub(crate) fn sent(&self) -> usize {
        self.sent
    }

    /// Sends `request` to the broker at `base_url`.
    pub(crate) async fn exchange(
        &mut self,
        base_url: &str,
        request: &RawRequest,
    ) -> Result<Exchange, String> {
        let url = format!("{base_url}{}", request.path);
        let mut builder = self
            .client_for(&url)?
            .request(request.method.clone(), url)
            .header(ACCEPT, "application/json");
        if let Some(value) = &request.authorization {
            builder = builder.header(AUTHORIZATION, value);
        }
        let builder = match &request.body {
            Body::Empty => builder,
            Body::Json(value) => builder.json(value),
            Body::Raw(media_type, text) => {
                builder.header(CONTENT_TYPE, *media_type).body(text.clone())
            }
        };
        Ok(Exchange {
            sent: request.masked(),
            response: self.count_and_send(builder).await?,
        })
    }

    /// Sends a browser's navigation to `url`.
    pub(crate) async fn navigate(
        &mut self,
        method: Method,
        url: &str,
        cookies: &str,
    ) -> Result<RawResponse, String> {
        let mut request = self
            .client_for(url)?
            .request(method, url)
            .header(ACCEPT, "text/html");
        if !cookies.is_empty() {
            request = request.header(COOKIE, cookies);
        }
        self.count_and_send(request).await
    }

    /// Sends JSON to a helper of the run, a driver or a control address; not counted.
    pub(crate) async fn call_helper(
        &self,
        method: Method,
        url: &str,
        body: Option<&Value>,
    ) -> Result<RawResponse, String> {
        let request = self.client_for(url)?.request(method, url);
        send(match body {
            Some(body) => request.json(body),
            None => request,
        })
        .await
    }

    async fn count_and_send(&mut self, request: RequestBuilder) -> Result<RawResponse, String> {
        if self.sent >= MAX_REQUESTS {
            return Err(format!("a run sends at most {MAX_REQUESTS} requests"));
        }
        self.sent += 1;
        send(request).await
    }
}

fn builder(is_local: bool) -> ClientBuilder {
    let builder = Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        // A one-time exchange is never repeated; only a test sends anything again.
        .retry(reqwest::retry::never())
        .timeout(RESPONSE_TIMEOUT);
    if is_local {
        builder.no_proxy()
    } else {
        builder
    }
}

fn build(builder: ClientBuilder) -> Result<Client, String> {
    builder
        .build()
        .map_err(|error| format!("no HTTP client can be made here: {}", cause(&error)))
}

async fn send(request: RequestBuilder) -> Result<RawResponse, String> {
    read(request).await.map_err(|error| message(&error))
}

async fn read(request: RequestBuilder) -> reqwest::Result<RawResponse> {
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
        if body.len() > MAX_BODY_BYTES {
            body.truncate(MAX_BODY_BYTES);
            break;
        }
    }
    Ok(RawResponse {
        status,
        media_type,
        location,
        cookies,
        body: String::from_utf8_lossy(&body).into_owned(),
    })
}

/// An error message without the URL, which may contain a secret.
fn message(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        format!("no answer within {} s", RESPONSE_TIMEOUT.as_secs())
    } else if error.is_connect() {
        format!("no connection: {}", cause(error))
    } else if error.is_builder() {
        format!("the request cannot be sent: {}", cause(error))
    } else {
        format!("the exchange broke off: {}", cause(error))
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
