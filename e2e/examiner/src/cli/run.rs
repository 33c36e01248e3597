//! One examination on the command line: its progress, its reports, its exit status, and its
//! end by an interruption.

use std::future::pending;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::{ExitCode, exit};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use super::settings::Settings;
use crate::examination::examine_until;
use crate::report::{OlderReport, printable};
use crate::time::pause;
use crate::{ExaminationPlan, Progress, Report};

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
    let Some(mut report) = examine_shown(&plan, &Interruption::listen()).await? else {
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

/// Examines the app, and shows the progress. There is no report after an interruption.
pub(super) async fn examine_shown(
    plan: &ExaminationPlan,
    interruption: &Interruption,
) -> Result<Option<Report>, String> {
    let mut shown = ShownProgress::new();
    let mut progress = |step: Progress<'_>| shown.step(&step);
    let report = examine_until(plan, &mut progress, interruption.wait()).await;
    shown.end();
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
pub(super) fn write_files(settings: &Settings, report: &Report) -> Result<(), String> {
    for (flag, path, format) in files_of(settings) {
        let written = std::fs::write(path, format(report));
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
pub(super) fn error_text(error: &str) -> String {
    let lines: Vec<_> = error.lines().map(printable).collect();
    format!("examine: {}", lines.join("\n"))
}

/// The progress: a bar on a terminal, else a line for each check.
pub(super) struct ShownProgress {
    bar: ProgressBar,
}

impl ShownProgress {
    pub(super) fn new() -> Self {
        let bar = ProgressBar::new_spinner();
        if let Ok(style) = ProgressStyle::with_template("{spinner} {pos}/{len} {msg}  {elapsed}") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(100));
        Self { bar }
    }

    fn step(&mut self, step: &Progress<'_>) {
        match step {
            Progress::Preflight => self.say("looking at the app and signing in".to_owned()),
            Progress::Checks(number) => {
                self.bar
                    .set_length(u64::try_from(*number).unwrap_or_default());
                self.say(format!("{number} checks"));
            }
            Progress::Done(result) => {
                self.bar.inc(1);
                self.say(format!("{} {}", result.verdict.label(), result.check.id));
            }
        }
    }

    pub(super) fn say(&self, text: String) {
        if self.bar.is_hidden() {
            let _ = writeln!(io::stderr(), "{text}");
        } else {
            self.bar.set_message(text);
        }
    }

    pub(super) fn end(&self) {
        self.bar.finish_and_clear();
    }
}

/// The time for leaving the stack as it was found. A page that takes a minute to parse must
/// not make Ctrl-C wait for it.
const CLEAN_UP: Duration = Duration::from_secs(5);

/// Ctrl-C, or a request to end: whether one has come, since this began to listen. The app is in
/// a process group of its own, so that neither reaches it: the examination ends it, and leaves
/// the stack as it was found.
#[derive(Debug)]
pub(super) struct Interruption(watch::Receiver<bool>);

impl Interruption {
    pub(super) fn listen() -> Self {
        let (sender, receiver) = watch::channel(false);
        tokio::spawn(async move {
            next_signal().await;
            let _ = sender.send(true);
            pause(CLEAN_UP).await;
            exit(INTERRUPTED.into());
        });
        Self(receiver)
    }

    /// Waits for an interruption; returns at once after one.
    pub(super) async fn wait(&self) {
        let mut receiver = self.0.clone();
        if receiver.wait_for(|has_come| *has_come).await.is_err() {
            pending::<()>().await;
        }
    }
}

async fn next_signal() {
    let Ok(mut ended) = signal(SignalKind::terminate()) else {
        return pending().await;
    };
    tokio::select! {
        Ok(()) = tokio::signal::ctrl_c() => {}
        Some(()) = ended.recv() => {}
        else => pending().await,
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
