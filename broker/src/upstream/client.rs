//! One HTTP client for both providers, with every limit that a stranger's server
//! needs: no redirect followed, no proxy of the environment, a time limit for the
//! whole call, a cap on the body, and no second try of anything.

use std::time::Duration;

use reqwest::{RequestBuilder, StatusCode, header::HeaderMap, redirect, retry};
use serde::de::DeserializeOwned;

use super::Failure;

/// No honest answer of either provider is near this size.
const MAX_BODY_BYTES: usize = 256 * 1024;

/// Makes calls to providers.
#[derive(Debug, Clone)]
pub(super) struct Client(reqwest::Client);

/// A provider's answer, read to its end.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    body: Vec<u8>,
}

impl Client {
    pub(super) fn new(timeout: Duration) -> reqwest::Result<Self> {
        reqwest::Client::builder()
            .timeout(timeout)
            .connect_timeout(timeout)
            .redirect(redirect::Policy::none())
            .no_proxy()
            // A code exchange whose answer was lost may have happened.
            .retry(retry::never())
            // GitHub refuses whoever does not say who it is.
            .user_agent(concat!(
                "federated-sign-in-broker/",
                env!("CARGO_PKG_VERSION")
            ))
            .build()
            .map(Self)
    }

    pub(super) fn get(&self, url: &str) -> RequestBuilder {
        self.0.get(url)
    }

    pub(super) fn post(&self, url: &str) -> RequestBuilder {
        self.0.post(url)
    }
}

/// Sends `request` and reads the answer, up to the cap.
pub(super) async fn send(request: RequestBuilder) -> Result<Answer, Failure> {
    let mut response = request.send().await.map_err(|error| no_answer(&error))?;
    let (status, headers) = (response.status(), response.headers().clone());
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| no_answer(&error))? {
        if body.len() + chunk.len() > MAX_BODY_BYTES {
            return Err(Failure::invalid("the provider's answer is too large"));
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
        Failure::unavailable("the provider did not answer in time")
    } else if error.is_connect() {
        Failure::unavailable("the provider cannot be reached")
    } else {
        Failure::unavailable("the connection to the provider broke")
    }
}

impl Answer {
    /// The body, if the status is 200 and it is JSON of this shape.
    pub(super) fn json<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        self.check_status()?;
        self.lenient_json().ok_or(Failure::invalid(
            "the provider's answer is not what it should be",
        ))
    }

    /// The body as JSON of this shape, whatever the status.
    pub(super) fn lenient_json<T: DeserializeOwned>(&self) -> Option<T> {
        serde_json::from_slice(&self.body).ok()
    }

    fn check_status(&self) -> Result<(), Failure> {
        match self.status {
            StatusCode::OK => Ok(()),
            StatusCode::TOO_MANY_REQUESTS => {
                Err(Failure::unavailable("the provider limits our rate"))
            }
            status if status.is_server_error() => Err(Failure::unavailable(
                "the provider reports trouble of its own",
            )),
            status if status.is_redirection() => {
                Err(Failure::invalid("the provider redirects a call of ours"))
            }
            _ => Err(Failure::invalid("the provider refuses a call of ours")),
        }
    }

    /// The seconds of `Cache-Control: max-age`, if it says so.
    pub(super) fn max_age_seconds(&self) -> Option<i64> {
        let header = self
            .headers
            .get(reqwest::header::CACHE_CONTROL)?
            .to_str()
            .ok()?;
        header
            .split(',')
            .find_map(|part| part.trim().strip_prefix("max-age=")?.parse().ok())
    }
}
