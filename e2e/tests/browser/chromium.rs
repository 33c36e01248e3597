//! One ChromeDriver for the whole run, one browser session per user.

use std::future::Future;
use std::panic::AssertUnwindSafe;

use examiner::{ChromeDriver, ChromiumSettings};
use rocket::futures::FutureExt as _;
use thirtyfour::error::WebDriverResult;
use thirtyfour::{ChromiumLikeCapabilities as _, WebDriver};
use tokio::sync::OnceCell;

/// Chromium takes the certificates of a stack over TLS unseen (`stack`'s suite `trust` tests
/// the trust in them), and finds on this machine what the tests call a shop.
const ARGUMENTS: [&str; 2] = [
    "--ignore-certificate-errors",
    "--host-resolver-rules=MAP *.shop.test 127.0.0.1",
];

/// The driver of the whole run; it ends with this process.
pub(crate) async fn driver() -> &'static ChromeDriver {
    static DRIVER: OnceCell<ChromeDriver> = OnceCell::const_new();
    let start = || async {
        let started = ChromeDriver::start(&ChromiumSettings::Hidden).await;
        started.unwrap_or_else(|error| panic!("`just test` installs Chromium: {error}"))
    };
    DRIVER.get_or_init(start).await
}

/// Opens a browser with a profile of its own.
pub(crate) async fn open() -> WebDriver {
    open_with(&[]).await
}

/// Opens a browser that is started with these arguments, too.
pub(crate) async fn open_with(more: &[&str]) -> WebDriver {
    let driver = driver().await;
    let mut chromium = driver.capabilities().unwrap();
    for argument in ARGUMENTS.iter().chain(more) {
        chromium.add_arg(argument).unwrap();
    }
    WebDriver::new(driver.url(), chromium).await.unwrap()
}

/// Opens a browser that hides a page behind the tab in front of it, as the headless shell
/// never does.
pub(crate) async fn open_with_tabs() -> WebDriver {
    let driver = driver().await;
    let mut chromium = driver.capabilities().unwrap();
    chromium.unset_binary();
    WebDriver::new(driver.url(), chromium).await.unwrap()
}

/// Awaits what the user does, and closes the browser whatever came of it.
pub(crate) async fn close_after(
    session: &WebDriver,
    steps: impl Future<Output = WebDriverResult<()>>,
) {
    let result = AssertUnwindSafe(steps).catch_unwind().await;
    if !matches!(result, Ok(Ok(()))) {
        let failed = crate::user::picture_path("failed");
        let _ = session.screenshot(&failed).await;
    }
    let _ = session.clone().quit().await;
    match result {
        Ok(outcome) => outcome.unwrap(),
        Err(panic) => std::panic::resume_unwind(panic),
    }
}
