//! `conformance`: holds any broker against the contract, from outside.
//!
//! | module | what lives there |
//! |---|---|
//! | [`settings`] | flags and environment, made into a plan |
//! | [`conformance`] | everything else |

mod settings;

use std::io::{self, Write as _};
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser as _;
use conformance::report::Outcome;
use conformance::{self, Report};
use indicatif::{ProgressBar, ProgressStyle};
use settings::Settings;

/// For usage and for trouble that is no broken requirement.
const TROUBLE: u8 = 2;

#[tokio::main]
async fn main() -> ExitCode {
    match run(&Settings::parse()).await {
        Ok(Outcome::Fine) => ExitCode::SUCCESS,
        Ok(Outcome::Broken) => ExitCode::FAILURE,
        Ok(Outcome::Troubled) => TROUBLE.into(),
        Err(why) => {
            let _ = writeln!(io::stderr(), "conformance: {why}");
            TROUBLE.into()
        }
    }
}

async fn run(settings: &Settings) -> Result<Outcome, Box<dyn std::error::Error>> {
    let spinner = spinner();
    let plan = settings.plan(&spinner).await?;
    let mut tell = |what: &str| {
        spinner.set_message(what.to_owned());
        if spinner.is_hidden() {
            let _ = writeln!(io::stderr(), "{what} …");
        }
    };
    let report = conformance::run(&plan, &mut tell).await;
    spinner.finish_and_clear();
    let report = report?;
    hand_out(settings, &report)?;
    Ok(report.outcome())
}

fn hand_out(settings: &Settings, report: &Report) -> Result<(), Box<dyn std::error::Error>> {
    if let Some(path) = &settings.junit {
        std::fs::write(path, report.junit())
            .map_err(|error| format!("--junit {}: {error}", path.display()))?;
    }
    let told = if settings.json {
        report.json()
    } else {
        report.table()
    };
    match io::stdout().write_all(told.as_bytes()) {
        // Whoever reads has read enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        done => Ok(done?),
    }
}

/// Says what is being done; hidden where there is no terminal.
fn spinner() -> ProgressBar {
    let spinner = ProgressBar::new_spinner();
    if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}  {elapsed}") {
        spinner.set_style(style);
    }
    spinner.enable_steady_tick(Duration::from_millis(100));
    spinner
}
