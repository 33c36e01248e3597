//! A real browser through a running WebDriver.

use std::time::Duration;

use agent::http;
use serde::Deserialize as _;
use serde_json::Value;
use thirtyfour::error::{WebDriverError, WebDriverResult};
use thirtyfour::{By, Capabilities};

use crate::http::{RESPONSE_TIMEOUT, reach};
use crate::verdict::Stop;

/// The time that a sign-in may take.
const SIGN_IN_TIMEOUT: Duration = Duration::from_secs(180);
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// A running driver, for example `chromedriver`.
#[derive(Debug, Clone)]
pub struct WebDriver {
    /// Without a trailing slash.
    url: String,
    /// Those of a new session.
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
        start: Option<&str>,
        url: &str,
        callback: &str,
    ) -> Result<String, Stop> {
        let client = http::builder(reach(&self.url)).timeout(RESPONSE_TIMEOUT);
        let client = http::build(client).map_err(Stop::Harness)?;
        let capabilities = Capabilities::deserialize(&self.capabilities);
        let capabilities = capabilities.map_err(|error| self.stop(&error.to_string()))?;
        let browser = thirtyfour::WebDriver::builder(format!("{}/", self.url), capabilities)
            .client(client)
            .await
            .map_err(|error| self.stop(&message(&error)))?;
        let arrived = follow(&browser, start, url, callback).await;
        let _ = browser.quit().await;
        let arrived = arrived.map_err(|error| self.stop(&message(&error)))?;
        arrived.ok_or_else(|| {
            self.stop("the browser did not come back to the callback within 3 minutes")
        })
    }

    fn stop(&self, error: &str) -> Stop {
        Stop::Harness(format!("the driver at {}: {error}", self.url))
    }
}

/// The address at which the browser arrived; none if it did not in time.
#[expect(
    clippy::disallowed_methods,
    reason = "no event says when the user in a browser is done"
)]
async fn follow(
    browser: &thirtyfour::WebDriver,
    start: Option<&str>,
    url: &str,
    callback: &str,
) -> WebDriverResult<Option<String>> {
    // To some drivers a callback without a server is an error; the address of the
    // browser says more.
    let opened = browser.goto(start.unwrap_or(url)).await;
    if start.is_some() {
        let link = browser.find(By::Css("a")).await?;
        let _ = link.click().await;
    }
    for _ in 0..SIGN_IN_TIMEOUT.as_millis() / POLL_INTERVAL.as_millis() {
        let at = browser.current_url().await?;
        if at.as_str().starts_with(callback) {
            return Ok(Some(at.into()));
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
    opened.map(|()| None)
}

/// The first line of what the driver says; below it is a stack trace.
fn message(error: &WebDriverError) -> String {
    let text = error.to_string();
    let (_, said) = text.split_once("Additional info:").unwrap_or(("", &text));
    said.trim().lines().next().unwrap_or_default().to_owned()
}
