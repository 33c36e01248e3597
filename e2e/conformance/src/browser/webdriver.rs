//! A real browser through WebDriver. A few calls of its protocol are needed, so
//! they are made here and no client library is carried along for them.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};

use crate::http::Http;
use crate::run::Stop;

/// How long somebody may take at the provider.
const PATIENCE: Duration = Duration::from_secs(180);
const PAUSE: Duration = Duration::from_millis(200);

/// A running driver, like `chromedriver`.
#[derive(Debug, Clone)]
pub struct WebDriver {
    /// Without a trailing slash.
    url: String,
    /// What a session is asked for with, as `alwaysMatch`.
    capabilities: Value,
}

impl WebDriver {
    /// The driver at `url`.
    pub fn at(url: &str, capabilities: Value) -> Self {
        Self {
            url: url.trim_end_matches('/').to_owned(),
            capabilities,
        }
    }

    /// Opens `url` in a browser of its own, from the page `start` if there is one,
    /// and waits until it stands at an address that begins with the callback.
    pub(super) async fn go(
        &self,
        http: &Http,
        start: Option<&str>,
        url: &str,
        callback: &str,
    ) -> Result<Option<String>, Stop> {
        let wanted = json!({ "capabilities": { "alwaysMatch": self.capabilities } });
        let opened = self
            .ask(http, Method::POST, "/session", Some(&wanted))
            .await?;
        let Some(id) = opened["sessionId"].as_str() else {
            return Err(self.stop("it opened no session"));
        };
        let session = format!("/session/{id}");
        let way = (start, url);
        let arrived = self.travel(http, &session, way, callback).await;
        let _ = self.ask(http, Method::DELETE, &session, None).await;
        arrived.map(Some)
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "nothing tells when a person in a browser is done"
    )]
    async fn travel(
        &self,
        http: &Http,
        session: &str,
        (start, url): (Option<&str>, &str),
        callback: &str,
    ) -> Result<String, Stop> {
        let there = format!("{session}/url");
        // A callback where nobody answers is an error to some drivers; where the
        // browser stands says more.
        let to = json!({ "url": start.unwrap_or(url) });
        let opened = self.ask(http, Method::POST, &there, Some(&to)).await;
        if start.is_some() {
            self.click_the_link(http, session).await?;
        }
        let tries = PATIENCE.as_millis() / PAUSE.as_millis();
        for _ in 0..tries {
            let at = self.ask(http, Method::GET, &there, None).await?;
            let at = at.as_str().unwrap_or_default();
            if at.starts_with(callback) {
                return Ok(at.to_owned());
            }
            tokio::time::sleep(PAUSE).await;
        }
        opened?;
        Err(self.stop("the browser did not come back to the callback within 3 minutes"))
    }

    async fn click_the_link(&self, http: &Http, session: &str) -> Result<(), Stop> {
        let link = json!({ "using": "css selector", "value": "a" });
        let found = format!("{session}/element");
        let found = self.ask(http, Method::POST, &found, Some(&link)).await?;
        let id = found
            .as_object()
            .and_then(|it| it.values().next()?.as_str());
        let id = id.ok_or_else(|| self.stop("it found no link on our own page"))?;
        let click = format!("{session}/element/{id}/click");
        // A callback where nobody answers is an error to some drivers here, too.
        let _ = self.ask(http, Method::POST, &click, Some(&json!({}))).await;
        Ok(())
    }

    /// One call; the answer's `value`.
    async fn ask(
        &self,
        http: &Http,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Value, Stop> {
        let url = format!("{}{path}", self.url);
        let answer = http.side_call(method, &url, body).await;
        let answer = answer.map_err(|why| self.stop(&why))?;
        let value = answer.json()["value"].take();
        if answer.is_success() {
            return Ok(value);
        }
        let why = value["message"].as_str().unwrap_or("no message");
        // The first line says what; the rest is a stack trace.
        Err(self.stop(why.lines().next().unwrap_or(why)))
    }

    fn stop(&self, why: &str) -> Stop {
        Stop::Harness(format!("the driver at {}: {why}", self.url))
    }
}
