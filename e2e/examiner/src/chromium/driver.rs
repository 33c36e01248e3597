//! ChromeDriver as a process of the examiner, and the browsers that it starts.

use std::process::{Command, Stdio};

use agent::program::{EndsBy, Program};
use rustix::process::geteuid;
use tempfile::TempDir;
use thirtyfour::common::capabilities::chromium::ChromiumLikeCapabilities as _;
use thirtyfour::error::{WebDriverError, WebDriverResult};
use thirtyfour::{ChromeCapabilities, LoggingPrefsLogLevel, WebDriver};
use url::Url;

/// ChromeDriver takes any free port of `[::1]` and then the same one of `127.0.0.1`; it
/// ends if that one is in use, as a port is for a minute after a connection.
const START_ATTEMPTS: usize = 20;

const INSTALL: &str = "install chromium and chromedriver (Debian: apt install chromium chromium-driver; Ubuntu: snap install chromium; macOS: brew install --cask chromium chromedriver), or give a running ChromeDriver with --webdriver URL";

/// The arguments of every Chromium; a hidden one, and one that root starts, has more.
const ARGUMENTS: [&str; 8] = [
    "--disable-dev-shm-usage",
    "--disable-gpu",
    // It makes no calls of its own.
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-sync",
    "--no-first-run",
    "--window-size=1200,1000",
];

/// The ChromeDriver that an examination uses, as the command line says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ChromiumSettings {
    /// The one in PATH, with a browser that no person sees.
    #[default]
    Hidden,
    /// The one in PATH, with a window, and slow enough for a person to follow.
    Shown,
    /// One that runs already, at this address.
    At(Url),
    /// None.
    Off,
}

/// A running ChromeDriver. It ends with this process, or when it is dropped.
#[derive(Default)]
pub struct ChromeDriver {
    url: String,
    is_shown: bool,
    browser: Option<String>,
    /// Dropped before its folder, to which Chromium writes as long as it runs: the profiles, and
    /// whatever else it leaves in a temporary one.
    #[cfg_attr(not(test), expect(dead_code, reason = "it ends when it is dropped"))]
    pub(super) process: Option<(Program, TempDir)>,
}

impl ChromeDriver {
    /// Starts a driver.
    ///
    /// # Errors
    ///
    /// One sentence with the way out.
    pub async fn start(settings: &ChromiumSettings) -> Result<Self, String> {
        match settings {
            ChromiumSettings::Off => {
                return Err("it needs Chromium, which --no-chromium leaves out".to_owned());
            }
            ChromiumSettings::At(url) => {
                return Ok(Self {
                    url: url.as_str().trim_end_matches('/').to_owned(),
                    ..Self::default()
                });
            }
            ChromiumSettings::Hidden | ChromiumSettings::Shown => {}
        }
        let mut obstacle = String::new();
        for _ in 0..START_ATTEMPTS {
            match Self::try_start(*settings == ChromiumSettings::Shown).await {
                Ok(driver) => return Ok(driver),
                Err(error) => obstacle = error,
            }
        }
        Err(format!("it needs Chromium, and {obstacle}: {INSTALL}"))
    }

    /// Starts a driver, or returns why it does not start.
    async fn try_start(is_shown: bool) -> Result<Self, String> {
        let folder = tempfile::Builder::new().prefix("examine-").tempdir();
        let folder = folder.map_err(|error| format!("there is no temporary folder ({error})"))?;
        let mut shell = Command::new("sh");
        shell
            .args(["-c", include_str!("driver.sh"), "driver.sh"])
            .args(is_shown.then_some("--shown"))
            .env("TMPDIR", folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let program = Program::start(shell, EndsBy::KillOfGroup);
        let mut program = program.map_err(|error| format!("there is no shell ({error})"))?;
        let (mut last, mut browser) = ("it prints nothing".to_owned(), None);
        while let Some(line) = program.output.next_line().await {
            if line == "missing" {
                return Err("there is no program `chromedriver`".to_owned());
            } else if let Some(path) = line.strip_prefix("browser: ") {
                browser = Some(path.to_owned());
            } else if let Some((_, port)) = line.split_once("successfully on port ") {
                return Ok(Self {
                    url: format!("http://127.0.0.1:{}", port.trim_end_matches('.')),
                    is_shown,
                    browser,
                    process: Some((program, folder)),
                });
            } else {
                last = line;
            }
        }
        Err(format!("chromedriver does not start ({last})"))
    }

    /// A browser with a profile of its own.
    ///
    /// # Errors
    ///
    /// One sentence with the way out.
    pub(super) async fn session(&self) -> Result<WebDriver, String> {
        let started = async {
            let mut capabilities = self.capabilities()?;
            capabilities.set_logging_prefs("performance", LoggingPrefsLogLevel::All)?;
            WebDriver::new(&self.url, capabilities).await
        };
        started.await.map_err(|error| {
            format!(
                "it needs Chromium, and ChromeDriver at {} starts none ({}): {INSTALL}",
                self.url,
                message(&error)
            )
        })
    }

    /// The address at which it answers.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The capabilities of a browser: hidden unless it is to be shown, and without calls of
    /// its own.
    ///
    /// # Errors
    ///
    /// If they cannot be written as JSON.
    pub fn capabilities(&self) -> WebDriverResult<ChromeCapabilities> {
        let mut chromium = ChromeCapabilities::new();
        let hidden = (!self.is_shown).then_some("--headless=new");
        // Chromium's sandbox does not start for root.
        let for_root = geteuid().is_root().then_some("--no-sandbox");
        for argument in ARGUMENTS.into_iter().chain(hidden).chain(for_root) {
            chromium.add_arg(argument)?;
        }
        if let Some(browser) = &self.browser {
            chromium.set_binary(browser)?;
        }
        Ok(chromium)
    }
}

/// The first line of what the driver says; below it is a stack trace.
pub(super) fn message(error: &WebDriverError) -> String {
    let text = error.to_string();
    let (_, said) = text.split_once("Additional info:").unwrap_or(("", &text));
    said.trim().lines().next().unwrap_or_default().to_owned()
}
