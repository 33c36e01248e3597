//! One examination, or one storm, on the command line: its progress, its reports, its exit
//! status, and its end by an interruption.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;
use std::process::{ExitCode, exit};
use std::sync::Arc;
use std::time::Duration;

use agent::random::any_seed;
use askama::Template as _;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::SetOnce;

use super::settings::Settings;
use crate::report::OlderReport;
use crate::storm::{StormPlan, storm};
use crate::time::pause;
use crate::transcript::printable;
use crate::{ExaminationPlan, Progress, Report, examine};

/// The exit status of wrong usage, and of a failure that is not the app's.
pub(super) const FAILED: u8 = 2;

/// The exit status of an examination that was interrupted, as shells write it.
pub(super) const INTERRUPTED: u8 = 130;

/// Examines the app once.
pub(super) async fn run(settings: &Settings) -> Result<ExitCode, String> {
    let plan = settings.plan()?;
    check_files(settings)?;
    let older = settings.compare.as_deref().map(OlderReport::read);
    let older = older.transpose()?;
    let Some(mut report) = examine_shown(&plan, Interruption::listen().wait()).await? else {
        return Ok(INTERRUPTED.into());
    };
    if let Some(older) = older {
        report = report.compared_with(&older);
    }
    write_files(settings, &report)?;
    print(&if settings.json {
        report.json()
    } else {
        report.text()
    })?;
    Ok(status_of(&report))
}

/// Lets the app go through a storm.
pub(super) async fn run_storm(settings: &Settings, seconds: u64) -> Result<ExitCode, String> {
    let plan = settings.plan()?;
    let weather = StormPlan {
        length: Duration::from_secs(seconds),
        seed: settings.seed.unwrap_or_else(any_seed),
    };
    let (bar, seed) = (progress_bar(), weather.seed);
    say(&bar, format!("a storm of {seconds} s with the seed {seed}"));
    let report = storm(&plan, weather, Interruption::listen().wait()).await;
    bar.finish_and_clear();
    let Some(report) = report? else {
        return Ok(INTERRUPTED.into());
    };
    print(&if settings.json {
        let target = plan.start.as_str();
        let report = json!({ "schema": 1, "target": target, "storm": report });
        format!("{report:#}\n")
    } else {
        report.render().map_err(|error| error.to_string())?
    })?;
    Ok(match report.violations.is_empty() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

/// Examines the app, and shows the progress. There is no report after an interruption.
pub(crate) async fn examine_shown(
    plan: &ExaminationPlan,
    interruption: impl Future<Output = ()>,
) -> Result<Option<Report>, String> {
    let bar = progress_bar();
    let mut progress = |step: Progress<'_>| show(&bar, &step);
    let report = examine(plan, &mut progress, interruption).await;
    bar.finish_and_clear();
    report
}

/// The exit status of an examination.
pub(super) fn status_of(report: &Report) -> ExitCode {
    if report.has_harness_failure() {
        FAILED.into()
    } else if report.is_good() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// The format of a report.
pub(super) type Format = fn(&Report) -> String;

/// The files of a report, each with its flag and its format.
pub(super) fn files_of(settings: &Settings) -> impl Iterator<Item = (&'static str, &Path, Format)> {
    let files: [(_, _, Format); 4] = [
        ("--html", &settings.html, Report::html),
        ("--junit", &settings.junit, Report::junit),
        ("--markdown", &settings.markdown, Report::markdown),
        ("--badge", &settings.badge, Report::badge),
    ];
    let named = files.into_iter();
    named.filter_map(|(flag, path, format)| Some((flag, path.as_deref()?, format)))
}

/// Opens every file of the report before the examination, which takes a minute. A file that is
/// new goes again: an empty one is no report.
fn check_files(settings: &Settings) -> Result<(), String> {
    for (flag, path, _) in files_of(settings) {
        let is_new = !path.exists();
        let opened = File::options().create(true).append(true).open(path);
        let checked = opened.and_then(|_| match is_new {
            true => fs::remove_file(path),
            false => Ok(()),
        });
        checked.map_err(|error| cannot_write(flag, path, &error))?;
    }
    Ok(())
}

/// Writes the reports that go into files.
pub(super) fn write_files(settings: &Settings, report: &Report) -> Result<(), String> {
    for (flag, path, format) in files_of(settings) {
        let written = fs::write(path, format(report));
        written.map_err(|error| cannot_write(flag, path, &error))?;
    }
    Ok(())
}

fn cannot_write(flag: &str, path: &Path, error: &io::Error) -> String {
    format!("{flag} {}: {error}", path.display())
}

pub(super) fn print(text: &str) -> Result<(), String> {
    match io::stdout().write_all(text.as_bytes()) {
        // A pager that was closed is no error.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written.map_err(|error| format!("standard output: {error}")),
    }
}

/// An error as the terminal shows it: texts of an app must not steer it.
pub(super) fn error_text(name: &str, error: &str) -> String {
    let lines: Vec<_> = error.lines().map(printable).collect();
    format!("{name}: {}", lines.join("\n"))
}

/// The progress: a bar on a terminal, else a line for each check.
fn progress_bar() -> ProgressBar {
    let bar = ProgressBar::new_spinner();
    if let Ok(style) = ProgressStyle::with_template("{spinner} {pos}/{len} {msg}  {elapsed}") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(100));
    bar
}

fn show(bar: &ProgressBar, step: &Progress<'_>) {
    let text = match step {
        Progress::Preflight => "looking at the app and signing in".to_owned(),
        Progress::Checks(number) => {
            bar.set_length(u64::try_from(*number).unwrap_or_default());
            format!("{number} checks")
        }
        Progress::Done(result) => {
            bar.inc(1);
            format!("{} {}", result.verdict, result.check.id)
        }
    };
    say(bar, text);
}

fn say(bar: &ProgressBar, text: String) {
    if bar.is_hidden() {
        let _ = writeln!(io::stderr(), "{text}");
    } else {
        bar.set_message(text);
    }
}

/// The time for leaving the stack as it was found. A page that takes a minute to parse must
/// not make Ctrl-C wait for it.
const CLEAN_UP: Duration = Duration::from_secs(5);

/// Ctrl-C, or a request to end: whether one has come, since this began to listen. The app is in
/// a process group of its own, so that neither reaches it: the examination ends it, and leaves
/// the stack as it was found.
#[derive(Debug)]
pub(crate) struct Interruption(Arc<SetOnce<()>>);

impl Interruption {
    pub(crate) fn listen() -> Self {
        let interruption = Arc::new(SetOnce::new());
        let listener = interruption.clone();
        tokio::spawn(async move {
            if next_signal().await.is_ok() {
                let _ = listener.set(());
                pause(CLEAN_UP).await;
                exit(INTERRUPTED.into());
            }
        });
        Self(interruption)
    }

    /// Whether one has come.
    pub(crate) fn has_come(&self) -> bool {
        self.0.initialized()
    }

    /// Waits for an interruption; returns at once after one.
    pub(crate) async fn wait(&self) {
        self.0.wait().await;
    }
}

async fn next_signal() -> io::Result<()> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        _ = interrupt.recv() => Ok(()),
        _ = terminate.recv() => Ok(()),
    }
}
