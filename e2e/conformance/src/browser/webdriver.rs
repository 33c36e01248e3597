//! A real browser through WebDriver: the five calls of its protocol that a run needs.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};

use crate::error::Stop;
use crate::http::Http;

/// The time that a sign-in may take.
const SIGN_IN_TIMEOUT: Duration = Duration::from_secs(180);
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// A running driver, for example `chromedriver`.
#[derive(Debug, Clone)]
pub struct WebDriver {
    /// Without a trailing slash.
    url: String,
    /// The `alwaysMatch` of a new session.
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

    /// Opens `url` in a new browser, by the link on the page `start` if there is one,
    /// and waits until its address begins with the callback.
    pub(super) async fn navigate(
        &self,
        http: &Http,
        start: Option<&str>,
        url: &str,
        callback: &str,
    ) -> Result<String, Stop> {
        let wanted = json!({ "capabilities": { "alwaysMatch": self.capabilities } });
        let opened = self
            .call(http, Method::POST, "/session", Some(&wanted))
            .await?;
        let Some(id) = opened["sessionId"].as_str() else {
            return Err(self.stop("it opened no session"));
        };
        let session = format!("/session/{id}");
        let way = (start, url);
        let arrived = self.follow(http, &session, way, callback).await;
        let _ = self.call(http, Method::DELETE, &session, None).await;
        arrived
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "no event says when the user in a browser is done"
    )]
    async fn follow(
        &self,
        http: &Http,
        session: &str,
        (start, url): (Option<&str>, &str),
        callback: &str,
    ) -> Result<String, Stop> {
        let there = format!("{session}/url");
        // To some drivers a callback without a server is an error; the address of the
        // browser says more.
        let to = json!({ "url": start.unwrap_or(url) });
        let opened = self.call(http, Method::POST, &there, Some(&to)).await;
        if start.is_some() {
            self.click_the_link(http, session).await?;
        }
        let tries = SIGN_IN_TIMEOUT.as_millis() / POLL_INTERVAL.as_millis();
        for _ in 0..tries {
            let at = self.call(http, Method::GET, &there, None).await?;
            let at = at.as_str().unwrap_or_default();
            if at.starts_with(callback) {
                return Ok(at.to_owned());
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        opened?;
        Err(self.stop("the browser did not come back to the callback within 3 minutes"))
    }

    async fn click_the_link(&self, http: &Http, session: &str) -> Result<(), Stop> {
        let link = json!({ "using": "css selector", "value": "a" });
        let found = format!("{session}/element");
        let found = self.call(http, Method::POST, &found, Some(&link)).await?;
        let id = found
            .as_object()
            .and_then(|it| it.values().next()?.as_str());
        let id = id.ok_or_else(|| self.stop("it found no link on our own page"))?;
        let click = format!("{session}/element/{id}/click");
        // Here, too, a callback without a server is an error to some drivers.
        let _ = self
            .call(http, Method::POST, &click, Some(&json!({})))
            .await;
        Ok(())
    }

    /// Makes one call and returns the `value` of its response.
    async fn call(
        &self,
        http: &Http,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Value, Stop> {
        let url = format!("{}{path}", self.url);
        let response = http.call_helper(method, &url, body).await;
        let response = response.map_err(|error| self.stop(&error))?;
        let value = response.json()["value"].take();
        if response.is_success() {
            return Ok(value);
        }
        let message = value["message"].as_str().unwrap_or("no message");
        // Everything below the first line is a stack trace.
        Err(self.stop(message.lines().next().unwrap_or(message)))
    }

    fn stop(&self, error: &str) -> Stop {
        Stop::Harness(format!("the driver at {}: {error}", self.url))
    }
}
