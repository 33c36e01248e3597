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

/// ChromeDriver takes any free port of `[::1]` and then the same one of `127.0.0.1`; it
/// ends if that one is in use, as a port is for a minute after a connection.
const START_ATTEMPTS: usize = 20;

/// Runs the driver until standard input closes, which it does with this process:
/// a static is never dropped, and an orphan would outlive the tests. Standard output
/// closes as soon as the driver ends: no test waits for a line of a dead one.
const UNTIL_WE_END: &str = "exec 3<&0
    chromedriver --port=0 2>&1 3<&- &
    driver=$!
    { read -r _ <&3; kill $driver; } >/dev/null 2>&1 &
    exec >/dev/null 2>&1
    wait $driver";

struct Driver {
    url: String,
    _process: Child,
}

impl Driver {
    fn start() -> Self {
        let mut last_words = String::new();
        for _ in 0..START_ATTEMPTS {
            match Self::try_start() {
                Ok(driver) => return driver,
                Err(output) => last_words = output,
            }
        }
        panic!("chromedriver does not start (`just test` installs it): {last_words}");
    }

    /// Starts a driver, or returns what it printed before it ended.
    fn try_start() -> Result<Self, String> {
        let mut process = Command::new("sh")
            .args(["-c", UNTIL_WE_END])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("there is a shell");
        let output = BufReader::new(process.stdout.take().unwrap());
        let mut printed = String::new();
        let port = output.lines().map_while(Result::ok).find_map(|line| {
            printed.push_str(&line);
            printed.push('\n');
            let (_, port) = line.split_once("successfully on port ")?;
            Some(port.trim_end_matches('.').to_owned())
        });
        let Some(port) = port else {
            let _ = process.wait();
            return Err(printed);
        };
        Ok(Self {
            url: format!("http://127.0.0.1:{port}"),
            _process: process,
        })
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
