//! The command line of the program `examine`: its progress, its reports, its exit status.

mod config_file;
mod init;
mod settings;
mod show_progress;

use std::io::{self, Write as _};
use std::path::Path;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use tokio::signal::{self, unix::SignalKind};

use crate::{Progress, Report};
pub use settings::{InitSettings, Settings};

/// The exit status of wrong usage, and of trouble that is not the app's.
const TROUBLE: u8 = 2;

/// Grades a consumer of the service: is this app, as it runs, correct and safe?
///
/// START is the page on which a visitor chooses to sign in. The app runs already,
/// configured for the stack of `just up`; or the examiner starts it by COMMAND, with
/// SIGNIN_BASE_URL, SIGNIN_CLIENT_ID, SIGNIN_CLIENT_SECRET, CONSUMER_BASE_URL, PORT and
/// KIT_CLOCK_URL in its environment, and a stack of its own.
///
/// The grade follows the attacks that are open: A+ (everything passes), A (good practice
/// is missing), B (an attack needs a second weakness), C (an attack is open), F (an
/// account was taken over).
#[derive(Debug, Parser)]
#[command(
    name = "examine",
    version,
    args_conflicts_with_subcommands = true,
    after_help = after_help("examine")
)]
pub struct Cli {
    #[command(flatten)]
    settings: Settings,

    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Look at the app, sign in once, and write examine.toml with what was found
    Init(InitSettings),
}

/// The end of the help, with examples for a program of this name.
pub fn after_help(program: &str) -> String {
    format!(
        "\
Exit status: 0 for A+ and A, 1 for every other grade, 2 for wrong usage and for
trouble that is not the app's.

Examples:
  {program} http://localhost:5000/                    an app that runs
  {program} http://localhost:5000/ -- python app.py   an app to start
  {program} init http://localhost:5000/               write examine.toml
  {program} --only callback-replay                    one check, all else from examine.toml"
    )
}

impl Cli {
    /// Examines the app, or writes `examine.toml`; an error is one line on standard error.
    pub async fn run(self) -> ExitCode {
        let done = match &self.command {
            Some(Command::Init(settings)) => init::run(settings).await.map(|()| ExitCode::SUCCESS),
            None => examine(&self.settings).await,
        };
        done.unwrap_or_else(|error| {
            let _ = writeln!(io::stderr(), "examine: {error}");
            TROUBLE.into()
        })
    }
}

async fn examine(settings: &Settings) -> Result<ExitCode, String> {
    let plan = settings.plan()?;
    let mut shown = show_progress::ShownProgress::new();
    let mut progress = |step: Progress<'_>| shown.step(&step);
    // Dropped at a signal, the examination ends the apps that it has started.
    let report = tokio::select! {
        report = crate::examine(&plan, &mut progress) => report,
        signal = signal() => Err(format!("interrupted by {signal}")),
    };
    shown.end();
    let report = report?;
    write_reports(settings, &report)?;
    Ok(if report.has_harness_trouble() {
        TROUBLE.into()
    } else if report.is_good() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Waits for a signal that ends programs.
async fn signal() -> &'static str {
    let interrupted = tokio::signal::ctrl_c();
    let Ok(mut terminated) = signal::unix::signal(SignalKind::terminate()) else {
        let _ = interrupted.await;
        return "Ctrl-C";
    };
    tokio::select! {
        _ = interrupted => "Ctrl-C",
        _ = terminated.recv() => "SIGTERM",
    }
}

fn write_reports(settings: &Settings, report: &Report) -> Result<(), String> {
    let files = [
        (
            "--junit",
            &settings.junit,
            Report::junit as fn(&Report) -> String,
        ),
        ("--markdown", &settings.markdown, Report::markdown),
        ("--html", &settings.html, Report::html),
    ];
    for (flag, path, text) in files {
        if let Some(path) = path {
            write_file(flag, path, &text(report))?;
        }
    }
    let text = if settings.json {
        report.json()
    } else {
        report.text()
    };
    match io::stdout().write_all(text.as_bytes()) {
        // A pager that was closed is no error.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written.map_err(|error| format!("standard output: {error}")),
    }
}

fn write_file(flag: &str, path: &Path, text: &str) -> Result<(), String> {
    std::fs::write(path, text).map_err(|error| format!("{flag} {}: {error}", path.display()))
}
