//! One HTTP client for both providers, with every limit that a stranger's server
//! needs: no redirect followed, no proxy that nobody configured, a time limit for
//! the whole call, a cap on the body, nothing decompressed, and no second try of
//! anything. So many calls to one provider are under way at once, and no more.

use std::error::Error;
use std::io;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName};
use reqwest::{ClientBuilder, Proxy, RequestBuilder, StatusCode, redirect, retry};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::{Semaphore, SemaphorePermit};

use super::Failure;
use crate::clock::Stopwatch;
use crate::config::{ProxyConfig, UpstreamConfig};

/// No honest answer of either provider is near this size.
pub(super) const MAX_BODY_BYTES: usize = 256 * 1024;

/// Idle connections kept for each of a provider's hosts.
const MOST_IDLE: usize = 32;

/// Makes calls to providers. Clones share their turns.
#[derive(Debug, Clone)]
pub(super) struct Client {
    http: reqwest::Client,
    turns: Arc<Semaphore>,
    /// How long a call waits for its turn.
    patience: Duration,
}

/// A provider's answer, read to its end.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    body: Vec<u8>,
}

impl Client {
    pub(super) fn new(config: &UpstreamConfig) -> reqwest::Result<Self> {
        let builder = reqwest::Client::builder()
            .timeout(config.timeout())
            .connect_timeout(config.timeout())
            .pool_max_idle_per_host(MOST_IDLE)
            .redirect(redirect::Policy::none())
            // A code exchange whose answer was lost may have happened.
            .retry(retry::never())
            // GitHub refuses whoever does not say who it is.
            .user_agent(concat!(
                "federated-sign-in-broker/",
                env!("CARGO_PKG_VERSION")
            ));
        Ok(Self {
            http: through(&config.proxy, builder)?.build()?,
            turns: Arc::new(Semaphore::new(Semaphore::MAX_PERMITS)),
            patience: config.timeout(),
        })
    }

    /// The same client for one provider, to which it makes so many calls at once.
    pub(super) fn taking_turns(&self, calls: NonZeroU32) -> Self {
        let calls = usize::try_from(calls.get()).unwrap_or(usize::MAX);
        Self {
            turns: Arc::new(Semaphore::new(calls.min(Semaphore::MAX_PERMITS))),
            ..self.clone()
        }
    }

    pub(super) fn get(&self, url: &str) -> RequestBuilder {
        self.http.get(url)
    }

    pub(super) fn post(&self, url: &str) -> RequestBuilder {
        self.http.post(url)
    }

    /// Sends `request` and reads the answer, up to the cap; `hear` is told.
    pub(super) async fn send(
        &self,
        operation: &'static str,
        request: RequestBuilder,
        hear: Hear<'_>,
    ) -> Result<Answer, Failure> {
        let turn = self.turn().await;
        let watch = Stopwatch::start();
        let answer = match turn {
            Ok(_turn) => read(request).await,
            Err(failure) => Err(failure),
        };
        hear(Call {
            operation,
            outcome: answer
                .as_ref()
                .map(|answer| answer.status.as_u16())
                .map_err(|failure| *failure),
            took: watch.elapsed(),
        });
        answer
    }

    /// Waits for a turn. Whoever waits longest is next.
    #[expect(
        clippy::disallowed_methods,
        reason = "it waits for calls to a provider, which are limited by the same time"
    )]
    async fn turn(&self) -> Result<SemaphorePermit<'_>, Failure> {
        match tokio::time::timeout(self.patience, self.turns.acquire()).await {
            Ok(Ok(turn)) => Ok(turn),
            Ok(Err(_)) | Err(_) => Err(Failure::Crowded),
        }
    }
}

/// The client would obey `HTTPS_PROXY` and its like by itself.
fn through(proxy: &ProxyConfig, builder: ClientBuilder) -> reqwest::Result<ClientBuilder> {
    Ok(match proxy {
        ProxyConfig::None => builder.no_proxy(),
        ProxyConfig::Environment => builder,
        ProxyConfig::At(url) => builder.no_proxy().proxy(Proxy::all(url.expose())?),
    })
}

/// A call to a provider, as it ended.
#[derive(Debug)]
pub(crate) struct Call {
    /// What was asked for, in words of ours: `POST token`.
    pub(crate) operation: &'static str,
    /// The HTTP status of the answer, or why there was none.
    pub(crate) outcome: Result<u16, Failure>,
    /// How long that took, the whole answer included.
    pub(crate) took: Duration,
}

/// Whoever hears of each call that is made for a login.
pub(crate) type Hear<'a> = &'a (dyn Fn(Call) + Send + Sync);

async fn read(request: RequestBuilder) -> Result<Answer, Failure> {
    let mut response = request.send().await.map_err(|error| no_answer(&error))?;
    let (status, headers) = (response.status(), response.headers().clone());
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| no_answer(&error))? {
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

fn no_answer(error: &reqwest::Error) -> Failure {
    if error.is_timeout() {
        Failure::Timeout
    } else if !error.is_connect() {
        Failure::Broken
    } else if is_about_tls(error) {
        Failure::Untrusted
    } else {
        Failure::Unreachable
    }
}

/// The TLS library tells its troubles as I/O errors of this kind, which others
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
    /// The body, if the status is 200 and it is JSON of this shape and says so.
    pub(super) fn json<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        self.check_status()?;
        self.check_type()?;
        self.lenient_json().ok_or(Failure::Malformed)
    }

    /// The body as JSON of this shape, whatever the head says.
    pub(super) fn lenient_json<T: DeserializeOwned>(&self) -> Option<T> {
        serde_json::from_slice(&self.body).ok()
    }

    /// The `error` of an OAuth answer that grants nothing, whatever the head says.
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
            status if status.is_server_error() => Err(Failure::ServerTrouble),
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

    /// The seconds of `Cache-Control: max-age`, if it says so.
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
    /// An answer that nobody sent.
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
    async fn who_gets_no_turn_gives_up_and_who_waits_for_another_provider_does_not() {
        let config = UpstreamConfig {
            timeout_ms: 20,
            ..UpstreamConfig::default()
        };
        let client = Client::new(&config).unwrap();
        let [one, other] = [(); 2].map(|()| client.taking_turns(NonZeroU32::MIN));
        let held = one.turn().await.unwrap();
        assert_eq!(one.turn().await.unwrap_err(), Failure::Crowded);
        assert_eq!(one.clone().turn().await.unwrap_err(), Failure::Crowded);
        assert!(other.turn().await.is_ok());
        drop(held);
        assert!(one.turn().await.is_ok());
    }
}
