//! Who takes the browser's part: a client that follows redirects, a person, or a
//! browser driven through WebDriver.

mod automatic;
mod home;
mod person;
mod webdriver;

use url::Url;

use super::mask;
use super::run::{Run, Stop};
use super::verdict::Evidence;

use home::Home;
pub use person::Person;
pub use webdriver::WebDriver;

/// Who takes the browser's part.
#[derive(Debug)]
pub enum Browser {
    /// An HTTP client that keeps cookies and follows redirects up to the callback,
    /// which it does not visit: for providers that sign somebody in without a page.
    Automatic,
    /// A person, who is asked to open an address.
    Person(Person),
    /// A real browser.
    WebDriver(WebDriver),
}

/// What is to happen at the provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Aim {
    SignIn,
    Decline,
}

/// A browser's way from the broker and home.
#[derive(Debug)]
pub(crate) struct Journey {
    /// Where it came to in the end, byte for byte; nothing if nobody said.
    pub(crate) url: Option<String>,
    pub(crate) evidence: Evidence,
}

/// Sends the browser to `url` and waits until it is home. Where it was in trouble
/// once, it is not sent again: each time could take minutes.
pub(crate) async fn go(run: &mut Run<'_>, url: &str, aim: Aim) -> Result<Journey, Stop> {
    if let Some(why) = &run.lost_browser {
        return Err(Stop::Harness(why.clone()));
    }
    let home = travel(run, url, aim).await;
    if let Err(Stop::Harness(why)) = &home {
        run.lost_browser = Some(why.clone());
    }
    let home = home?;
    let came = match &home {
        Some(home) => format!("the browser came to {}", mask::url(home)),
        None => "the browser came home".to_owned(),
    };
    Ok(Journey {
        evidence: Evidence {
            sent: format!("a browser, to {}", mask::url(url)),
            came,
        },
        url: home,
    })
}

async fn travel(run: &mut Run<'_>, url: &str, aim: Aim) -> Result<Option<String>, Stop> {
    let plan = run.plan;
    let callback = &plan.project.callback;
    match &plan.browser {
        Browser::Automatic => automatic::go(run, url).await,
        Browser::Person(person) => {
            let _home = Home::at(callback, url).await;
            person.go(url, callback, aim)
        }
        Browser::WebDriver(driver) => {
            let home = Home::at(callback, url).await;
            driver.go(&run.http, home.start(), url, callback).await
        }
    }
}

/// Whether an address is the consumer's: at the callback's origin, and, where the
/// broker has the same one, under its path.
fn is_home(url: &str, callback: &str, base_url: &str) -> bool {
    let (Ok(url), Ok(callback)) = (Url::parse(url), Url::parse(callback)) else {
        return false;
    };
    let shares = Url::parse(base_url).is_ok_and(|base| base.origin() == callback.origin());
    url.origin() == callback.origin() && (!shares || url.path().starts_with(callback.path()))
}
