//! The command line of the program `examine`: its progress, its reports, its exit status.

mod app_settings;
mod changes;
mod config_file;
mod init;
mod interruption;
mod settings;
mod show_progress;
mod watch;

use std::io::{self, Write as _};
use std::path::Path;
use std::process::ExitCode;

use crate::examination::examine_until;
use crate::report::printable::printable;
use crate::{ExaminationPlan, Progress, Report};
use clap::{Parser, Subcommand};
pub use init::InitSettings;
use interruption::Interruption;
pub use settings::Settings;

/// The exit status of wrong usage, and of a failure that is not the app's.
const FAILED: u8 = 2;

/// The exit status of an examination that was interrupted, as shells write it.
const INTERRUPTED: u8 = 130;

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
Exit status: 0 for A+ and A, 1 for every other grade, 2 for wrong usage and if the
examiner itself failed, even if the app failed as well; 130 after Ctrl-C. With --expect the
known failures do not count, and one that passes is a 1.

Examples:
  {program} http://localhost:5000/                    an app that runs
  {program} http://localhost:5000/ -- python app.py   an app to start
  {program} init http://localhost:5000/               write examine.toml
  {program} --watch                                   again at each change of a file
  {program} --only callback-replay                    one check, all else from examine.toml"
    )
}

impl Cli {
    /// Examines the app, or writes `examine.toml`; an error is one line on standard error.
    pub async fn run(self) -> ExitCode {
        let done = match &self.command {
            Some(Command::Init(settings)) => init::run(settings).await,
            None if self.settings.watch => watch::run(&self.settings).await,
            None => examine(&self.settings).await,
        };
        done.unwrap_or_else(|error| {
            let _ = writeln!(io::stderr(), "{}", error_text(&error));
            FAILED.into()
        })
    }
}

/// An error as the terminal shows it: texts of an app must not steer it.
fn error_text(error: &str) -> String {
    let lines: Vec<_> = error.lines().map(printable).collect();
    format!("examine: {}", lines.join("\n"))
}

async fn examine(settings: &Settings) -> Result<ExitCode, String> {
    let plan = settings.plan()?;
    check_files(settings)?;
    let Some(report) = examine_shown(&plan, &Interruption::listen()).await? else {
        return Ok(INTERRUPTED.into());
    };
    write_files(settings, &report)?;
    print(&if settings.json {
        report.json()
    } else {
        report.text()
    })?;
    Ok(status_of(&report))
}

/// Examines the app, and shows the progress. There is no report after an interruption.
async fn examine_shown(
    plan: &ExaminationPlan,
    interruption: &Interruption,
) -> Result<Option<Report>, String> {
    let mut shown = show_progress::ShownProgress::new();
    let mut progress = |step: Progress<'_>| shown.step(&step);
    let report = examine_until(plan, &mut progress, interruption.wait()).await;
    shown.end();
    report
}

/// The exit status of an examination.
fn status_of(report: &Report) -> ExitCode {
    if report.has_harness_failure() {
        FAILED.into()
    } else if report.is_good() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// The format of a report.
type Format = fn(&Report) -> String;

/// The files of a report, each with its flag and its format.
fn files_of(settings: &Settings) -> impl Iterator<Item = (&'static str, &Path, Format)> {
    let files: [(_, _, Format); 3] = [
        ("--html", &settings.html, Report::html),
        ("--junit", &settings.junit, Report::junit),
        ("--markdown", &settings.markdown, Report::markdown),
    ];
    let named = files.into_iter();
    named.filter_map(|(flag, path, format)| Some((flag, path.as_deref()?, format)))
}

/// Opens every file of the report before the examination, which takes a minute. A file that is
/// new goes again: an empty one is no report.
fn check_files(settings: &Settings) -> Result<(), String> {
    for (flag, path, _) in files_of(settings) {
        let is_new = !path.exists();
        let mut options = std::fs::OpenOptions::new();
        let opened = options.create(true).append(true).open(path);
        opened.map_err(|error| cannot_write(flag, path, &error))?;
        if is_new {
            std::fs::remove_file(path).map_err(|error| cannot_write(flag, path, &error))?;
        }
    }
    Ok(())
}

/// Writes the reports that go into files.
fn write_files(settings: &Settings, report: &Report) -> Result<(), String> {
    for (flag, path, format) in files_of(settings) {
        let written = std::fs::write(path, format(report));
        written.map_err(|error| cannot_write(flag, path, &error))?;
    }
    Ok(())
}

fn cannot_write(flag: &str, path: &Path, error: &io::Error) -> String {
    format!("{flag} {}: {error}", path.display())
}

fn print(text: &str) -> Result<(), String> {
    match io::stdout().write_all(text.as_bytes()) {
        // A pager that was closed is no error.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written.map_err(|error| format!("standard output: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_words_of_a_command_do_not_steer_the_terminal() {
        let text = error_text("the command ended. Its last words: \u{1b}[2Jboom\nmend it");
        assert_eq!(
            text,
            "examine: the command ended. Its last words: \u{fffd}[2Jboom\nmend it"
        );
    }
}
