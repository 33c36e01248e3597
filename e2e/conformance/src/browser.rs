//! The browser of a run: an HTTP client that follows redirects, the user's own
//! browser, or one that is driven through WebDriver.

mod real;

use agent::browser::{Arrival, Browser, Page, Visit};
use url::Url;

use super::http::Http;
use super::mask;
use super::verdict::{Evidence, Stop};

use real::CallbackServer;
pub use real::{UserPrompt, WebDriver};

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

/// The user's decision at the provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Aim {
    SignIn,
    Decline,
}

/// A browser's way from the broker to the consumer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Navigation<'a> {
    /// The address that the browser opens.
    pub(crate) url: &'a str,
    /// The consumer's callback.
    pub(crate) callback: &'a str,
    /// The broker's address.
    pub(crate) base_url: &'a str,
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
        http: &Http,
        navigation: Navigation<'_>,
        aim: Aim,
    ) -> Result<NavigationEnd, Stop> {
        let Navigation { url, callback, .. } = navigation;
        let arrived_at = match self {
            Self::Automatic => Some(follow_redirects(http, navigation).await?),
            Self::User(prompt) => {
                let _server = CallbackServer::start(callback, url).await;
                let task = match aim {
                    Aim::SignIn => "sign in, always with the same account",
                    Aim::Decline => "CANCEL at the provider, this time",
                };
                prompt.navigate(task, url, callback)?
            }
            Self::WebDriver(driver) => {
                let server = CallbackServer::start(callback, url).await;
                Some(driver.navigate(server.start_page(), url, callback).await?)
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

impl Navigation<'_> {
    /// The request with which a browser begins, on a page of the consumer.
    pub(crate) fn visit(&self) -> Result<Visit, Stop> {
        let url = Url::parse(self.url);
        let url = url.map_err(|_| Stop::blocked("the browser was to open what is no URL"))?;
        let callback = Url::parse(self.callback);
        let callback = callback.map_err(|_| Stop::Harness("the callback is no URL".to_owned()))?;
        Ok(Visit::typed(&url).by_page_of(&callback))
    }

    /// Whether an address is the consumer's: at the callback's origin, and, where the
    /// broker has the same origin, below the callback's path.
    pub(crate) fn is_at_consumer(&self, url: &Url) -> bool {
        let Ok(callback) = Url::parse(self.callback) else {
            return false;
        };
        let shares = Url::parse(self.base_url).is_ok_and(|base| base.origin() == callback.origin());
        url.origin() == callback.origin() && (!shares || url.path().starts_with(callback.path()))
    }
}

/// Navigates up to an address for which `is_end` holds. The first one may be it: a broker
/// may name the consumer's address in place of its own.
pub(crate) async fn visit_until(
    browser: &mut Browser<Http>,
    visit: Visit,
    is_end: impl Fn(&Url) -> bool,
) -> Result<Arrival, Stop> {
    match is_end(&visit.url) {
        true => Ok(Arrival::Stopped(visit)),
        false => browser.visit_until(visit, is_end).await,
    }
}

/// Follows redirects until they lead to the consumer, and returns the last address. A
/// chain that ends at the broker has ended all the same; one that ends anywhere else
/// needs a user.
async fn follow_redirects(http: &Http, navigation: Navigation<'_>) -> Result<String, Stop> {
    let mut browser = Browser::new(http.clone());
    let is_end = |url: &Url| navigation.is_at_consumer(url);
    match visit_until(&mut browser, navigation.visit()?, is_end).await? {
        Arrival::Stopped(visit) => Ok(visit.address().to_owned()),
        Arrival::Page(page) if page.url.as_str().starts_with(navigation.base_url) => {
            Ok(page.url.into())
        }
        Arrival::Page(page) => Err(Stop::Harness(needs_user(&page))),
    }
}

fn needs_user(page: &Page) -> String {
    let mut url = page.url.clone();
    url.set_query(None);
    format!(
        "the browser was left at {}, which answered {}: for a page that needs a user \
         use --browser person or --browser webdriver",
        mask::url(url.as_str()),
        page.status
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_login_that_begins_at_the_consumer_has_ended_there() {
        let http = Http::new("http://127.0.0.1:9", 0).unwrap();
        let url = "http://localhost:9/home?error=busy";
        let navigation = Navigation {
            url,
            callback: "http://localhost:9/home",
            base_url: "http://127.0.0.1:9",
        };
        let end = follow_redirects(&http, navigation).await;
        assert_eq!(end.ok().as_deref(), Some(url));
        assert_eq!(http.sent(), 0);
    }
}
