//! A client of the demo that is no browser: it keeps the demo's cookies and follows no
//! redirect.

use std::time::Duration;

use reqwest::header::{COOKIE, LOCATION, ORIGIN, SET_COOKIE};
use reqwest::{Certificate, Client, Method, Response, redirect, retry};

use crate::control_error::ControlError;
use crate::runtime::StackRuntime;

/// The time for one call. The demo itself waits for the broker.
const TIMEOUT: Duration = Duration::from_secs(15);

/// The cookies of one client: names with their values.
#[derive(Clone, Default)]
pub(super) struct Cookies(Vec<(String, String)>);

/// A client of the demo.
pub(super) struct DemoClient {
    demo: String,
    http: Client,
    pub(super) cookies: Cookies,
}

impl DemoClient {
    /// A client with these cookies.
    pub(super) fn new(runtime: &StackRuntime, cookies: Cookies) -> Result<Self, ControlError> {
        let demo = runtime.urls.consumer.clone();
        let demo = demo.ok_or_else(|| {
            ControlError::not_found("this sandbox has no demo; the lessons of the stack have one")
        })?;
        let mut http = Client::builder()
            .redirect(redirect::Policy::none())
            .retry(retry::never())
            .no_proxy()
            .timeout(TIMEOUT);
        if let Some(tls) = &runtime.reach.tls {
            let authority = Certificate::from_pem(tls.ca_pem().as_bytes());
            http = http.tls_certs_merge([authority.map_err(ControlError::internal)?]);
        }
        let http = http.build().map_err(ControlError::internal)?;
        Ok(Self {
            demo,
            http,
            cookies,
        })
    }

    /// Presses a button of the demo; returns the address that it redirects to.
    pub(super) async fn press(&mut self, path: &str) -> Result<Option<String>, ControlError> {
        let answer = self.send(Method::POST, path).await?;
        Ok(location(&answer))
    }

    /// Opens a page of the demo; returns the address that it redirects to.
    pub(super) async fn open(&mut self, path: &str) -> Result<Option<String>, ControlError> {
        let answer = self.send(Method::GET, path).await?;
        Ok(location(&answer))
    }

    async fn send(&mut self, method: Method, path: &str) -> Result<Response, ControlError> {
        let Self { demo, http, .. } = &self;
        let request = http
            .request(method, format!("{demo}{path}"))
            .header(ORIGIN, demo)
            .header(COOKIE, self.cookies.header());
        let answer = request
            .send()
            .await
            .map_err(|_| ControlError::unavailable("the demo does not answer; is it running?"))?;
        self.cookies.learn(&answer);
        Ok(answer)
    }
}

fn location(answer: &Response) -> Option<String> {
    let location = answer.headers().get(LOCATION)?;
    location.to_str().ok().map(ToOwned::to_owned)
}

impl Cookies {
    fn header(&self) -> String {
        let pairs = self.0.iter().map(|(name, value)| format!("{name}={value}"));
        pairs.collect::<Vec<_>>().join("; ")
    }

    fn learn(&mut self, answer: &Response) {
        for line in answer.headers().get_all(SET_COOKIE) {
            let pair = line.to_str().unwrap_or_default().split(';').next();
            let Some((name, value)) = pair.and_then(|pair| pair.split_once('=')) else {
                continue;
            };
            self.0.retain(|(known, _)| known != name);
            self.0.push((name.to_owned(), value.to_owned()));
        }
    }
}
