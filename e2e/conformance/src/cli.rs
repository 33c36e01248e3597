//! The command line of the program `conformance`: its progress, its report, its exit
//! status.

mod settings;

use std::io::{self, Write as _};
use std::process::ExitCode;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use crate::ConformanceReport;
use crate::report::Conclusion;

pub use settings::{Settings, after_help};

/// The exit status of wrong usage, and of a run that could not test everything.
const INCONCLUSIVE: u8 = 2;

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
}

async fn run(settings: &Settings) -> Result<Conclusion, Box<dyn std::error::Error>> {
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

fn write_reports(
    settings: &Settings,
    report: &ConformanceReport,
) -> Result<(), Box<dyn std::error::Error>> {
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
