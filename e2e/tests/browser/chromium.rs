//! One ChromeDriver for the whole run, one browser session per test.

use std::future::Future;
use std::io::{BufRead as _, BufReader};
use std::panic::AssertUnwindSafe;
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;

use rocket::futures::FutureExt as _;
use thirtyfour::error::WebDriverResult;
use thirtyfour::{ChromeCapabilities, ChromiumLikeCapabilities as _, WebDriver};

static DRIVER: LazyLock<Driver> = LazyLock::new(Driver::start);

/// Runs the driver until standard input closes, which it does with this process:
/// a static is never dropped, and an orphan would outlive the tests.
const UNTIL_WE_END: &str = "chromedriver --port=0 & read -r _; kill $!";

struct Driver {
    url: String,
    _process: Child,
}

impl Driver {
    fn start() -> Self {
        let mut process = Command::new("sh")
            .args(["-c", UNTIL_WE_END])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("chromedriver is not here: `just test` installs it");
        let output = BufReader::new(process.stdout.take().unwrap());
        let port = output
            .lines()
            .map_while(Result::ok)
            .find_map(|line| {
                line.split_once("successfully on port ")
                    .map(|(_, port)| port.to_owned())
            })
            .expect("chromedriver says where it listens");
        let port = port.trim_end_matches('.');
        Self {
            url: format!("http://127.0.0.1:{port}"),
            _process: process,
        }
    }
}

/// The arguments of every browser.
pub(crate) const ARGUMENTS: &[&str] = &[
    "--headless=new",
    // Chromium's sandbox does not start for root, as which CI runs.
    "--no-sandbox",
    "--disable-dev-shm-usage",
    "--disable-gpu",
    // It makes no calls of its own.
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--window-size=1200,1000",
];

/// The address of the driver.
pub(crate) fn driver() -> &'static str {
    &DRIVER.url
}

/// Opens a browser with a profile of its own.
pub(crate) async fn open() -> WebDriver {
    open_with(&[]).await
}

/// Opens a browser that is started with these arguments, too.
pub(crate) async fn open_with(more: &[&str]) -> WebDriver {
    let mut chromium = ChromeCapabilities::new();
    for argument in ARGUMENTS.iter().chain(more) {
        chromium.add_arg(argument).unwrap();
    }
    WebDriver::new(driver(), chromium).await.unwrap()
}

/// Awaits what the user does, and closes the browser whatever came of it.
pub(crate) async fn close_after(
    session: &WebDriver,
    steps: impl Future<Output = WebDriverResult<()>>,
) {
    let result = AssertUnwindSafe(steps).catch_unwind().await;
    if !matches!(result, Ok(Ok(()))) {
        let _ = session
            .screenshot(&crate::user::picture_path("failed"))
            .await;
    }
    let _ = session.clone().quit().await;
    match result {
        Ok(outcome) => outcome.unwrap(),
        Err(panic) => std::panic::resume_unwind(panic),
    }
}
