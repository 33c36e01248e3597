//! The browser of a run: an HTTP client that follows redirects, the user's own
//! browser, or one that is driven through WebDriver.

mod callback_server;
mod http_browser;
mod navigation;
mod user;
mod webdriver;

use super::error::Stop;
use super::http::Http;
use super::mask;
use super::verdict::Evidence;

use callback_server::CallbackServer;
pub(crate) use http_browser::{End, HttpBrowser};
pub(crate) use navigation::{Aim, Navigation};
pub use user::UserPrompt;
pub use webdriver::WebDriver;

/// The browser of a run.
#[derive(Debug)]
pub enum BrowserDriver {
    /// An HTTP client that keeps cookies and follows redirects up to the callback,
    /// which it does not visit: for providers that sign a user in without a page.
    Automatic,
    /// The user's own browser: the user is asked to open an address.
    User(UserPrompt),
    /// A real browser.
    WebDriver(WebDriver),
}

/// The end of a navigation.
#[derive(Debug)]
pub(crate) struct NavigationEnd {
    /// The last address, byte for byte; none if the user did not paste it.
    pub(crate) url: Option<String>,
    pub(crate) evidence: Evidence,
}

impl BrowserDriver {
    /// Opens the address and waits until the browser is back at the consumer.
    pub(crate) async fn navigate(
        &self,
        http: &mut Http,
        navigation: Navigation<'_>,
    ) -> Result<NavigationEnd, Stop> {
        let Navigation { url, callback, .. } = navigation;
        let arrived_at = match self {
            Self::Automatic => Some(http_browser::navigate(http, navigation).await?),
            Self::User(prompt) => {
                let _server = CallbackServer::start(callback, url).await;
                prompt.navigate(navigation)?
            }
            Self::WebDriver(driver) => {
                let server = CallbackServer::start(callback, url).await;
                let start = server.start_page();
                Some(driver.navigate(http, start, url, callback).await?)
            }
        };
        let received = match &arrived_at {
            Some(url) => format!("the browser came to {}", mask::url(url)),
            None => "the browser came back".to_owned(),
        };
        Ok(NavigationEnd {
            evidence: Evidence {
                sent: format!("a browser, to {}", mask::url(url)),
                received,
            },
            url: arrived_at,
        })
    }
}
