//! Real browsers: the user's own, and one that is driven through a running WebDriver; and
//! the pages that both find at the origin of a callback on this machine where nothing else
//! listens.
//!
//! One page begins a login: a broker may ask for a confirmation when the browser does not
//! come from the application. One welcomes the browser back: a real browser whose
//! connection is refused there goes back by itself and starts the login again.

use std::sync::Arc;
use std::time::Duration;
use std::{fmt, io};

use agent::http;
use serde::Deserialize as _;
use serde_json::Value;
use thirtyfour::error::{WebDriverError, WebDriverResult};
use thirtyfour::{By, Capabilities};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use url::Url;

use crate::http::{RESPONSE_TIMEOUT, is_http_loopback, reach};
use crate::verdict::Stop;

/// The time that a sign-in may take.
const SIGN_IN_TIMEOUT: Duration = Duration::from_secs(180);
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// The path of the page that begins a login.
const START_PATH: &str = "/begin-the-conformance-login";

const WELCOME_PAGE: &str = "<!doctype html><title>Back</title><p>You are back. Copy the address \
                            of this page for the conformance run.";

/// Asks a question and waits for one line.
type Ask = Box<dyn Fn(&str) -> io::Result<String> + Send + Sync>;

/// A user who can be asked.
pub struct UserPrompt(Ask);

impl UserPrompt {
    /// A user who answers each question with one line.
    pub fn new(ask: impl Fn(&str) -> io::Result<String> + Send + Sync + 'static) -> Self {
        Self(Box::new(ask))
    }

    /// The user opens `url`, does this `task` and may paste the address of the callback.
    pub(super) fn navigate(
        &self,
        task: &str,
        url: &str,
        callback: &str,
    ) -> Result<Option<String>, Stop> {
        let question = format!(
            "Open this in a browser and {task}:\n\n  {url}\n\n\
             When you are back at {callback}, paste the address of that page and press Enter (or \
             only Enter, to skip what the address shows): "
        );
        let line = (self.0)(&question)
            .map_err(|error| Stop::Harness(format!("no user can be asked: {error}")))?;
        let line = line.trim();
        Ok((!line.is_empty()).then(|| line.to_owned()))
    }
}

impl fmt::Debug for UserPrompt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("UserPrompt")
    }
}

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

/// Listens until it is dropped.
#[derive(Default)]
pub(super) struct CallbackServer {
    listeners: JoinSet<()>,
    start_page: Option<String>,
}

impl CallbackServer {
    /// Listens at `callback`, if that is on this machine and free, with a page that
    /// links to `url`.
    pub(super) async fn start(callback: &str, url: &str) -> Self {
        let mut server = Self::default();
        let here = Url::parse(callback).ok();
        let here = here.filter(|_| is_http_loopback(callback));
        let (Some(here), Ok(url)) = (here, Url::parse(url)) else {
            return server;
        };
        // A callback with the path of that page is welcomed back, and has none.
        let has_other_path = here.path() != START_PATH;
        let start: Option<Arc<str>> = has_other_path.then(|| start_page(&url).into());
        let port = here.port_or_known_default().unwrap_or(80);
        for ip in ["127.0.0.1", "::1"] {
            if let Ok(listener) = TcpListener::bind((ip, port)).await {
                server.listeners.spawn(accept(listener, start.clone()));
            }
        }
        if start.is_some() && !server.listeners.is_empty() {
            let origin = here.origin().ascii_serialization();
            server.start_page = Some(format!("{origin}{START_PATH}"));
        }
        server
    }

    /// The address of a page whose only link begins the login, if this server listens.
    pub(super) fn start_page(&self) -> Option<&str> {
        self.start_page.as_deref()
    }
}

/// A parsed URL has no quotes and no brackets: only `&` is escaped.
fn start_page(url: &Url) -> String {
    let url = url.as_str().replace('&', "&amp;");
    format!("<!doctype html><title>Begin</title><p><a href=\"{url}\">Begin the login</a>")
}

async fn accept(listener: TcpListener, start: Option<Arc<str>>) {
    while let Ok((browser, _)) = listener.accept().await {
        tokio::spawn(show(browser, start.clone()));
    }
}

/// Answers any request with a page.
async fn show(mut browser: TcpStream, start: Option<Arc<str>>) {
    let mut request = [0; 4096];
    let length = browser.read(&mut request).await.unwrap_or(0);
    let request = String::from_utf8_lossy(&request[..length]);
    let asks_for_start = request.split([' ', '?']).nth(1) == Some(START_PATH);
    let page = start.as_deref().filter(|_| asks_for_start);
    let page = page.unwrap_or(WELCOME_PAGE);
    let response = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\
         Cache-Control: no-store\r\nConnection: close\r\n\r\n{page}",
        page.len()
    );
    let _ = browser.write_all(response.as_bytes()).await;
}
