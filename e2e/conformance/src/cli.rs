//! `conformance`: tests any sign-in broker against the contract, from outside.
//!
//! | module | contents |
//! |---|---|
//! | [`settings`] | flags and environment, made into a plan |
//! | [`conformance`] | everything else |

mod settings;

use std::io::{self, Write as _};
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser as _;
use conformance::ConformanceReport;
use conformance::report::Conclusion;
use indicatif::{ProgressBar, ProgressStyle};
use settings::Settings;

/// The exit status of wrong usage, and of a run that could not test everything.
const INCONCLUSIVE: u8 = 2;

#[tokio::main]
async fn main() -> ExitCode {
    match run(&Settings::parse()).await {
        Ok(Conclusion::Conformant) => ExitCode::SUCCESS,
        Ok(Conclusion::NonConformant) => ExitCode::FAILURE,
        Ok(Conclusion::Inconclusive) => INCONCLUSIVE.into(),
        Err(error) => {
            let _ = writeln!(io::stderr(), "conformance: {error}");
            INCONCLUSIVE.into()
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
    let report = conformance::run(&plan, &mut progress).await;
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
