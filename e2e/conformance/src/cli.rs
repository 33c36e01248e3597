//! The command line of the program `conformance`: flags and environment, made into a plan;
//! progress, report and exit status.
//!
//! Secrets come from the environment or a file: flags are visible in the list of
//! processes.

use std::error::Error;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use agent::control::Control;
use clap::{Parser, ValueEnum};
use indicatif::{ProgressBar, ProgressStyle};
use url::Url;

use super::browser::{BrowserDriver, UserPrompt, WebDriver};
use super::project::TestProject;
use super::race::RacePlan;
use super::report::{Conclusion, ConformanceReport};
use super::run::{Expiry, TestPlan};

/// The exit status of wrong usage, and of a run that could not test everything.
const INCONCLUSIVE: u8 = 2;

/// Tests a sign-in broker against the contract, version 0.1.0.
///
/// It acts as a project's backend and browser, one request after another, 400 at
/// most (but see --races), and gives each requirement a verdict: PASS; FAIL; UNSPECIFIED, where the
/// specification is silent and this broker differs from this kit; SKIPPED, with the
/// reason; HARNESS, for an error of the runner itself.
///
/// Against a stack of this kit, --control is all it needs. It then registers two
/// projects of its own there, queues the user of each sign-in, and moves the clock
/// ahead by a quarter of an hour.
#[derive(Debug, Parser)]
#[command(name = "conformance", version, after_help = after_help("conformance"))]
pub struct Settings {
    /// The broker's address, like https://signin.example
    #[arg(value_name = "BASE_URL", value_parser = base_url)]
    base_url: String,

    /// The control address of the stack around the broker
    #[arg(long, value_name = "URL", value_parser = base_url)]
    control: Option<String>,

    /// The project's client_id; its secret comes from CONFORMANCE_CLIENT_SECRET
    #[arg(long, value_name = "ID", env = "CONFORMANCE_CLIENT_ID")]
    client_id: Option<String>,

    /// A file with the project's client_secret
    #[arg(long, value_name = "FILE", env = "CONFORMANCE_CLIENT_SECRET_FILE")]
    client_secret_file: Option<PathBuf>,

    /// A registered callback of the project; a second one allows more to
    /// be tested
    #[arg(
        long,
        value_name = "URL",
        env = "CONFORMANCE_CALLBACK",
        value_delimiter = ' '
    )]
    callback: Vec<String>,

    /// A second project's client_id; its secret comes from
    /// CONFORMANCE_OTHER_CLIENT_SECRET
    #[arg(long, value_name = "ID", env = "CONFORMANCE_OTHER_CLIENT_ID")]
    other_client_id: Option<String>,

    /// A file with the second project's client_secret
    #[arg(
        long,
        value_name = "FILE",
        env = "CONFORMANCE_OTHER_CLIENT_SECRET_FILE"
    )]
    other_client_secret_file: Option<PathBuf>,

    /// A registered callback of the second project; one that only it has allows more to
    /// be tested [default: the first one's]
    #[arg(long, value_name = "URL", env = "CONFORMANCE_OTHER_CALLBACK")]
    other_callback: Option<String>,

    /// The browser
    #[arg(long, value_enum, default_value_t = Driver::Automatic)]
    browser: Driver,

    /// A running driver, for --browser webdriver
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:9515", value_parser = base_url)]
    webdriver: String,

    /// The capabilities of the driver's session, as JSON
    #[arg(long, value_name = "JSON", default_value = "{}")]
    capabilities: serde_json::Value,

    /// Wait in real time until things expire: a quarter of an hour
    #[arg(long)]
    slow: bool,

    /// Race 32 requests at once for everything that may be used once, at each address of
    /// BASE_URL's host: two minutes, some 50000 requests
    #[arg(long)]
    races: bool,

    /// A further address of the same broker, a replica, where --races sends requests, too;
    /// may be repeated
    #[arg(long, value_name = "URL", requires = "races", value_parser = base_url)]
    also: Vec<String>,

    /// Print JSON instead of the table
    #[arg(long)]
    json: bool,

    /// Write JUnit's XML to FILE as well
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
}

/// The end of the help, with examples for a program of this name.
pub fn after_help(program: &str) -> String {
    format!(
        "\
Exit status: 0 when no requirement is broken, 1 when one is, 2 for wrong usage or
an error of the runner (no server answers, it is no broker, it does not know the
project).

Examples:
  {program} http://127.0.0.1:8000 --control http://127.0.0.1:8010
  {program} http://127.0.0.1:8000 --control http://127.0.0.1:8010 --races

  export CONFORMANCE_CLIENT_ID=… CONFORMANCE_CLIENT_SECRET=…
  {program} https://signin.example --callback http://localhost:8042/back --browser person"
    )
}

/// The browser of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Driver {
    /// An HTTP client, for providers that sign a user in without a page
    Automatic,
    /// Your own: you open what the runner prints
    #[value(name = "person")]
    User,
    /// A real browser, through a running driver
    Webdriver,
}

impl Settings {
    /// Tests the broker and prints the report; an error is one line on standard error.
    pub async fn run(self) -> ExitCode {
        match run(&self).await {
            Ok(Conclusion::Conformant) => ExitCode::SUCCESS,
            Ok(Conclusion::NonConformant) => ExitCode::FAILURE,
            Ok(Conclusion::Inconclusive) => INCONCLUSIVE.into(),
            Err(error) => {
                let _ = writeln!(io::stderr(), "conformance: {error}");
                INCONCLUSIVE.into()
            }
        }
    }

    /// The plan of the run. The spinner is hidden while the user is asked.
    async fn plan(&self, spinner: &ProgressBar) -> Result<TestPlan, Box<dyn Error>> {
        let control = self.control.as_deref().map(Control::at).transpose()?;
        let (project, other) = match (&self.client_id, &control) {
            (Some(id), _) => (self.project(id)?, self.other_project()?),
            (None, Some(control)) => {
                let [project, other] = TestProject::at(control).await?;
                (project, Some(other))
            }
            (None, None) => {
                return Err(
                    "missing credentials: give --client-id, --client-secret-file and --callback, or \
                     --control for a stack of this kit"
                        .into(),
                );
            }
        };
        let expiry = match (&control, self.slow) {
            (_, true) => Expiry::InRealTime,
            (Some(_), false) => Expiry::ByControl,
            (None, false) => Expiry::LeftOut,
        };
        Ok(TestPlan {
            base_url: self.base_url.clone(),
            project,
            other,
            browser: self.browser(spinner),
            control,
            expiry,
            races: self.races.then(|| RacePlan::full(self.also.clone())),
        })
    }

    fn browser(&self, spinner: &ProgressBar) -> BrowserDriver {
        match self.browser {
            Driver::Automatic => BrowserDriver::Automatic,
            Driver::Webdriver => {
                let capabilities = self.capabilities.clone();
                BrowserDriver::WebDriver(WebDriver::at(&self.webdriver, capabilities))
            }
            Driver::User => {
                let spinner = spinner.clone();
                BrowserDriver::User(UserPrompt::new(move |question| {
                    spinner.suspend(|| ask(question))
                }))
            }
        }
    }

    fn project(&self, id: &str) -> Result<TestProject, String> {
        let secret = secret(
            "CONFORMANCE_CLIENT_SECRET",
            "--client-secret-file",
            self.client_secret_file.as_deref(),
        )?;
        let callback = self.callback.first();
        let callback = callback.ok_or("missing callback: give --callback")?;
        Ok(TestProject::new(id, secret, callback).with_second(self.callback.get(1).cloned()))
    }

    fn other_project(&self) -> Result<Option<TestProject>, String> {
        let Some(id) = &self.other_client_id else {
            return Ok(None);
        };
        let secret = secret(
            "CONFORMANCE_OTHER_CLIENT_SECRET",
            "--other-client-secret-file",
            self.other_client_secret_file.as_deref(),
        )?;
        let callback = self.other_callback.as_ref().or(self.callback.first());
        let callback = callback.map_or("", String::as_str);
        Ok(Some(TestProject::new(id, secret, callback)))
    }
}

async fn run(settings: &Settings) -> Result<Conclusion, Box<dyn Error>> {
    let spinner = spinner();
    let plan = settings.plan(&spinner).await?;
    let mut progress = |step: &str| {
        spinner.set_message(step.to_owned());
        if spinner.is_hidden() {
            let _ = writeln!(io::stderr(), "{step} …");
        }
    };
    let report = crate::run(&plan, &mut progress).await;
    spinner.finish_and_clear();
    let report = report?;
    write_reports(settings, &report)?;
    Ok(report.conclusion())
}

fn write_reports(settings: &Settings, report: &ConformanceReport) -> Result<(), Box<dyn Error>> {
    if let Some(path) = &settings.junit {
        std::fs::write(path, report.junit())
            .map_err(|error| format!("--junit {}: {error}", path.display()))?;
    }
    let text = if settings.json {
        report.json()
    } else {
        report.table()
    };
    match io::stdout().write_all(text.as_bytes()) {
        // A pager that was closed is no error.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        done => Ok(done?),
    }
}

/// Shows the current step; hidden where there is no terminal.
fn spinner() -> ProgressBar {
    let spinner = ProgressBar::new_spinner();
    if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}  {elapsed}") {
        spinner.set_style(style);
    }
    spinner.enable_steady_tick(Duration::from_millis(100));
    spinner
}

/// A secret from a file, or from the environment.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the runner's configuration"
)]
fn secret(variable: &str, flag: &str, file: Option<&Path>) -> Result<String, String> {
    let secret = match file {
        Some(path) => std::fs::read_to_string(path)
            .map_err(|error| format!("{flag} {}: {error}", path.display()))?,
        None => std::env::var(variable)
            .map_err(|_| format!("the client_secret is missing: set {variable}, or give {flag}"))?,
    };
    let secret = secret.trim_end_matches(['\r', '\n']).to_owned();
    if secret.is_empty() {
        return Err(format!(
            "the client_secret of {variable} or {flag} is empty"
        ));
    }
    Ok(secret)
}

fn ask(question: &str) -> io::Result<String> {
    write!(io::stderr(), "\n{question}")?;
    io::stderr().flush()?;
    let mut line = String::new();
    if io::stdin().read_line(&mut line)? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(line)
}

/// An address without path or trailing slash.
fn base_url(text: &str) -> Result<String, &'static str> {
    const EXPECTED: &str = "expected an address like http://127.0.0.1:8000 or https://host";
    let url = Url::parse(text).map_err(|_| EXPECTED)?;
    let is_bare = matches!(url.scheme(), "http" | "https")
        && url.has_host()
        && url.username().is_empty()
        && url.password().is_none()
        && url.query().is_none()
        && url.fragment().is_none();
    if is_bare {
        Ok(text.trim_end_matches('/').to_owned())
    } else {
        Err(EXPECTED)
    }
}
