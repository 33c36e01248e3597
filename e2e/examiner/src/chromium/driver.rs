//! ChromeDriver as a process of the examiner, and the browsers that it starts.

use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use agent::program::{EndsBy, Program};
use rustix::process::geteuid;
use tempfile::TempDir;
use thirtyfour::common::capabilities::chromium::ChromiumLikeCapabilities as _;
use thirtyfour::{ChromeCapabilities, LoggingPrefsLogLevel, WebDriver};
use url::Url;

/// ChromeDriver takes any free port of `[::1]` and then the same one of `127.0.0.1`; it
/// ends if that one is in use, as a port is for a minute after a connection.
const START_ATTEMPTS: usize = 20;

/// Runs the driver until standard input closes, which it does with this process however
/// it ends; then the whole process group ends, and its temporary folder goes. Standard
/// output closes as soon as the driver ends. The browser is the first of its arguments that
/// is installed.
const UNTIL_WE_END: &str = r#"exec 3<&0
    command -v chromedriver >/dev/null || { echo missing; exit; }
    for name; do
        command -v $name && break
    done | sed 's/^/browser: /'
    chromedriver --port=0 2>&1 3<&- &
    driver=$!
    {
        read -r _ <&3
        trap '' TERM
        kill -TERM 0
        # Chromium writes as long as it runs.
        for _ in 1 2 3 4 5 6 7 8 9; do rm -rf "$TMPDIR"; sleep 0.1; done
        kill -KILL 0
    } >/dev/null 2>&1 &
    exec >/dev/null 2>&1
    wait $driver"#;

/// What shows its windows.
const BROWSERS: [&str; 4] = [
    "chromium",
    "google-chrome",
    "google-chrome-stable",
    "chromium-browser",
];

/// The same engine and network without a window to draw, in a quarter of the processor time.
/// Debian's by its own path: what is on PATH is a script that starts it, and that leaves it
/// running when ChromeDriver ends the script.
const HEADLESS_SHELLS: [&str; 2] = [
    "/usr/lib/chromium/chromium-headless-shell",
    "chrome-headless-shell",
];

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
pub struct ChromeDriver {
    url: String,
    is_shown: bool,
    browser: Option<String>,
    process: Mutex<Option<DriverProcess>>,
}

/// Dropped in this order.
struct DriverProcess {
    program: Program,
    /// The profiles, and whatever else Chromium leaves in a temporary folder.
    folder: TempDir,
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
                    is_shown: false,
                    browser: None,
                    process: Mutex::default(),
                });
            }
            ChromiumSettings::Hidden | ChromiumSettings::Shown => {}
        }
        let mut last_words = String::new();
        for _ in 0..START_ATTEMPTS {
            match Self::try_start(*settings == ChromiumSettings::Shown).await {
                Ok(driver) => return Ok(driver),
                Err(output) if output.trim() == "missing" => {
                    return Err(format!(
                        "it needs Chromium, and there is no program `chromedriver`: {INSTALL}"
                    ));
                }
                Err(output) => last_words = output,
            }
        }
        let last = last_words.lines().last().unwrap_or("it prints nothing");
        Err(format!(
            "it needs Chromium, and chromedriver does not start ({last}): {INSTALL}"
        ))
    }

    /// Starts a driver, or returns what it printed before it ended.
    async fn try_start(is_shown: bool) -> Result<Self, String> {
        let folder = tempfile::Builder::new().prefix("examine-").tempdir();
        let folder = folder.map_err(|error| format!("no temporary folder: {error}"))?;
        let shells = HEADLESS_SHELLS.into_iter().filter(|_| !is_shown);
        let mut shell = Command::new("sh");
        shell
            .args(["-c", UNTIL_WE_END, "sh"])
            .args(shells.chain(BROWSERS))
            .env("TMPDIR", folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let program = Program::start(shell, EndsBy::KillOfGroup);
        let mut program = program.map_err(|error| format!("no shell: {error}"))?;
        let (mut printed, mut browser) = (String::new(), None);
        while let Some(line) = program.output.next_line().await {
            if let Some(path) = line.strip_prefix("browser: ") {
                browser = Some(path.to_owned());
            } else if let Some((_, port)) = line.split_once("successfully on port ") {
                return Ok(Self {
                    url: format!("http://127.0.0.1:{}", port.trim_end_matches('.')),
                    is_shown,
                    browser,
                    process: Mutex::new(Some(DriverProcess { program, folder })),
                });
            } else {
                printed.push_str(&line);
                printed.push('\n');
            }
        }
        Err(printed)
    }

    /// A browser with a profile of its own.
    ///
    /// # Errors
    ///
    /// One sentence with the way out.
    pub(super) async fn session(&self) -> Result<WebDriver, String> {
        let cannot = |error: thirtyfour::error::WebDriverError| {
            let error = error.to_string();
            let line = error.lines().find(|it| !it.trim().is_empty()).unwrap_or("");
            format!(
                "it needs Chromium, and ChromeDriver at {} starts none ({line}): {INSTALL}",
                self.url
            )
        };
        let mut capabilities = self.capabilities().map_err(cannot)?;
        let logged = capabilities.set_logging_prefs("performance", LoggingPrefsLogLevel::All);
        logged.map_err(cannot)?;
        WebDriver::new(&self.url, capabilities)
            .await
            .map_err(cannot)
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
    pub fn capabilities(&self) -> thirtyfour::error::WebDriverResult<ChromeCapabilities> {
        let mut chromium = ChromeCapabilities::new();
        for argument in ARGUMENTS {
            chromium.add_arg(argument)?;
        }
        if !self.is_shown {
            chromium.add_arg("--headless=new")?;
        }
        if geteuid().is_root() {
            // Chromium's sandbox does not start for root.
            chromium.add_arg("--no-sandbox")?;
        }
        if let Some(browser) = &self.browser {
            chromium.set_binary(browser)?;
        }
        Ok(chromium)
    }

    pub(super) fn stop(&self) {
        if let Some(DriverProcess {
            mut program,
            folder,
        }) = self.process().take()
        {
            program.stop();
            // Chromium writes to it as long as it runs.
            drop(folder);
        }
    }

    fn process(&self) -> MutexGuard<'_, Option<DriverProcess>> {
        self.process.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
impl ChromeDriver {
    /// The folder and the process group of a driver that runs.
    pub(super) fn traces(&self) -> (std::path::PathBuf, u32) {
        let process = self.process();
        let process = process.as_ref().unwrap();
        (process.folder.path().to_owned(), process.program.id())
    }
}
