//! The HTTP client for both providers, with the limits that an untrusted server needs:
//! no redirect is followed, no proxy is used unless configured, each call has one time
//! limit and a maximum size of the body, nothing is decompressed, and nothing is
//! retried. The number of concurrent calls to one provider is limited.

use std::error::Error;
use std::io;
use std::net::Ipv4Addr;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName};
use reqwest::{
    Certificate, ClientBuilder, IntoUrl, Proxy, RequestBuilder, StatusCode, redirect, retry,
};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::{Semaphore, SemaphorePermit};

use super::failure::Failure;
use crate::clock::Stopwatch;
use crate::config::{ConfigError, ProxyConfig, UpstreamConfig};

/// The maximum size of a body; regular answers of both providers are far smaller.
pub(super) const MAX_BODY_BYTES: usize = 256 * 1024;

/// Makes calls to providers. Clones share the limit of concurrent calls.
#[derive(Debug, Clone)]
pub(super) struct Client {
    http: reqwest::Client,
    permits: Arc<Semaphore>,
    /// The time limit of waiting for a permit.
    permit_timeout: Duration,
}

/// The reason why there is no client.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The configured certificates cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The HTTP client cannot be made; usually the system has no certificates.
    #[error("cannot make the HTTP client for the providers: {0}")]
    Http(#[from] reqwest::Error),
}

/// A provider's complete answer.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    body: Vec<u8>,
}

impl Client {
    /// A client that keeps up to `max_idle` idle connections to each host. A smaller
    /// number than that of the concurrent calls would have each burst connect anew.
    pub(super) fn new(config: &UpstreamConfig, max_idle: NonZeroU32) -> Result<Self, ClientError> {
        let authorities = config.ca_certificates()?;
        let authorities: Vec<_> = authorities
            .iter()
            .map(|certificate| Certificate::from_der(certificate))
            .collect::<Result<_, _>>()?;
        crypto::install();
        let builder = reqwest::Client::builder()
            .timeout(config.timeout())
            .connect_timeout(config.timeout())
            .pool_max_idle_per_host(saturating(max_idle))
            .redirect(redirect::Policy::none())
            // A code exchange whose answer was lost may have happened.
            .retry(retry::never())
            // GitHub rejects requests without a User-Agent.
            .user_agent(concat!(
                "federated-sign-in-broker/",
                env!("CARGO_PKG_VERSION")
            ));
        // Reading the system's certificates takes longer than the rest of the start.
        let builder = match config.may_need_tls() {
            true => builder.tls_certs_merge(authorities),
            false => builder.tls_certs_only(authorities),
        };
        let builder = with_proxy(&config.proxy, builder)?;
        Ok(Self {
            http: with_imitations(config.imitations_at.as_deref(), builder).build()?,
            permits: Arc::new(Semaphore::new(Semaphore::MAX_PERMITS)),
            permit_timeout: config.timeout(),
        })
    }

    /// The same client for one provider, with at most `max_calls` calls at once.
    pub(super) fn limited_to(&self, max_calls: NonZeroU32) -> Self {
        let permits = saturating(max_calls).min(Semaphore::MAX_PERMITS);
        Self {
            permits: Arc::new(Semaphore::new(permits)),
            ..self.clone()
        }
    }

    pub(super) fn get(&self, url: impl IntoUrl) -> RequestBuilder {
        self.http.get(url)
    }

    pub(super) fn post(&self, url: impl IntoUrl) -> RequestBuilder {
        self.http.post(url)
    }

    /// Sends `request`, reads the answer up to its maximum size, and reports the call
    /// to `observer`.
    pub(super) async fn send(
        &self,
        operation: &'static str,
        request: RequestBuilder,
        observer: Observer<'_>,
    ) -> Result<Answer, Failure> {
        let permit = self.permit().await;
        let stopwatch = Stopwatch::start();
        let answer = match permit {
            Ok(_permit) => read(request).await,
            Err(failure) => Err(failure),
        };
        observer(Call {
            operation,
            outcome: answer
                .as_ref()
                .map(|answer| answer.status.as_u16())
                .map_err(|failure| *failure),
            took: stopwatch.elapsed(),
        });
        answer
    }

    /// Waits for the permit to make a call, first come, first served.
    #[expect(
        clippy::disallowed_methods,
        reason = "it waits for calls to a provider, which have the same time limit"
    )]
    async fn permit(&self) -> Result<SemaphorePermit<'_>, Failure> {
        if let Ok(permit) = self.permits.try_acquire() {
            return Ok(permit);
        }
        match tokio::time::timeout(self.permit_timeout, self.permits.acquire()).await {
            Ok(Ok(permit)) => Ok(permit),
            Ok(Err(_)) | Err(_) => Err(Failure::TooManyCalls),
        }
    }
}

fn saturating(number: NonZeroU32) -> usize {
    usize::try_from(number.get()).unwrap_or(usize::MAX)
}

/// Sets the proxy. By default the client would obey `HTTPS_PROXY` and similar
/// variables.
fn with_proxy(proxy: &ProxyConfig, builder: ClientBuilder) -> reqwest::Result<ClientBuilder> {
    Ok(match proxy {
        ProxyConfig::None => builder.no_proxy(),
        ProxyConfig::Environment => builder,
        ProxyConfig::At(url) => builder.no_proxy().proxy(Proxy::all(url.expose())?),
    })
}

/// Resolves the name of imitations, which are on this machine.
fn with_imitations(host: Option<&str>, builder: ClientBuilder) -> ClientBuilder {
    match host {
        // The port is that of the URL.
        Some(host) => builder.resolve(host, (Ipv4Addr::LOCALHOST, 0).into()),
        None => builder,
    }
}

/// A finished call to a provider.
#[derive(Debug)]
pub(crate) struct Call {
    /// The operation, like `POST token`.
    pub(crate) operation: &'static str,
    /// The HTTP status of the answer, or the failure to get one.
    pub(crate) outcome: Result<u16, Failure>,
    /// The duration, including the whole answer.
    pub(crate) took: Duration,
}

/// The observer of each call that is made for a login.
pub(crate) type Observer<'a> = &'a (dyn Fn(Call) + Send + Sync);

async fn read(request: RequestBuilder) -> Result<Answer, Failure> {
    let mut response = request.send().await.map_err(|error| failure_of(&error))?;
    let (status, headers) = (response.status(), response.headers().clone());
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| failure_of(&error))? {
        if body.len() + chunk.len() > MAX_BODY_BYTES {
            return Err(Failure::TooLarge);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(Answer {
        status,
        headers,
        body,
    })
}

fn failure_of(error: &reqwest::Error) -> Failure {
    if error.is_timeout() {
        Failure::Timeout
    } else if !error.is_connect() {
        Failure::ConnectionBroken
    } else if is_about_tls(error) {
        Failure::Untrusted
    } else {
        Failure::Unreachable
    }
}

/// The TLS library reports its errors as I/O errors of this kind, which other layers
/// wrap in I/O errors of their own.
fn is_about_tls(error: &(dyn Error + 'static)) -> bool {
    match error.downcast_ref::<io::Error>() {
        None => error.source().is_some_and(is_about_tls),
        Some(error) => {
            error.kind() == io::ErrorKind::InvalidData
                || error.get_ref().is_some_and(|inner| is_about_tls(inner))
        }
    }
}

impl Answer {
    /// Parses the body as JSON of this shape; status and content type must fit.
    pub(super) fn json<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        self.check_status()?;
        self.check_type()?;
        self.lenient_json().ok_or(Failure::Malformed)
    }

    /// Parses the body as JSON of this shape, whatever status and headers are.
    pub(super) fn lenient_json<T: DeserializeOwned>(&self) -> Option<T> {
        serde_json::from_slice(&self.body).ok()
    }

    /// The `error` of an OAuth error response, whatever status and headers are.
    pub(super) fn oauth_error(&self) -> Option<Value> {
        #[derive(Deserialize)]
        struct Refusal {
            error: Value,
        }
        self.lenient_json::<Refusal>().map(|refusal| refusal.error)
    }

    fn check_status(&self) -> Result<(), Failure> {
        match self.status {
            StatusCode::OK => Ok(()),
            StatusCode::TOO_MANY_REQUESTS => Err(Failure::RateLimited),
            status if status.is_server_error() => Err(Failure::ServerError),
            status if status.is_redirection() => Err(Failure::Redirected),
            _ => Err(Failure::Refused),
        }
    }

    fn check_type(&self) -> Result<(), Failure> {
        if self.headers.contains_key(CONTENT_ENCODING) {
            return Err(Failure::Encoded);
        }
        let media_type = self
            .header(CONTENT_TYPE)
            .and_then(|it| it.split(';').next());
        match media_type {
            Some(it) if it.trim().eq_ignore_ascii_case("application/json") => Ok(()),
            _ => Err(Failure::NotJson),
        }
    }

    /// The seconds of `Cache-Control: max-age`, if present.
    pub(super) fn max_age_seconds(&self) -> Option<u64> {
        self.header(CACHE_CONTROL)?
            .split(',')
            .find_map(|part| part.trim().strip_prefix("max-age=")?.parse().ok())
    }

    fn header(&self, name: HeaderName) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

#[cfg(test)]
impl Answer {
    /// An answer that no server sent.
    pub(super) fn of(status: StatusCode, headers: HeaderMap, body: &[u8]) -> Self {
        Self {
            status,
            headers,
            body: body.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_call_over_the_limit_fails_and_calls_to_another_provider_do_not() {
        let config = UpstreamConfig {
            timeout_ms: 20,
            ..UpstreamConfig::default()
        };
        let client = Client::new(&config, NonZeroU32::MIN).unwrap();
        let [one, other] = [(); 2].map(|()| client.limited_to(NonZeroU32::MIN));
        let held = one.permit().await.unwrap();
        assert_eq!(one.permit().await.unwrap_err(), Failure::TooManyCalls);
        let clone = one.clone();
        assert_eq!(clone.permit().await.unwrap_err(), Failure::TooManyCalls);
        assert!(other.permit().await.is_ok());
        drop(held);
        assert!(one.permit().await.is_ok());
    }
}
