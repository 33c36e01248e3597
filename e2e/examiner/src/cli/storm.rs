//! A storm on the command line.

use std::fmt::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use agent::random::any_seed;
use serde_json::json;

use super::run::{INTERRUPTED, Interruption, ShownProgress, print};
use super::settings::Settings;
use crate::storm::{StormPlan, StormReport, storm};

/// Lets the app go through a storm.
pub(super) async fn run(settings: &Settings) -> Result<ExitCode, String> {
    let plan = settings.plan()?;
    let weather = StormPlan {
        length: Duration::from_secs(settings.storm.unwrap_or_default()),
        seed: settings.seed.unwrap_or_else(any_seed),
    };
    let shown = ShownProgress::new();
    let seconds = weather.length.as_secs();
    shown.say(format!(
        "a storm of {seconds} s with the seed {}",
        weather.seed
    ));
    let report = storm(&plan, weather, Interruption::listen().wait()).await;
    shown.end();
    let Some(report) = report? else {
        return Ok(INTERRUPTED.into());
    };
    print(&if settings.json {
        format!(
            "{:#}\n",
            json!({ "schema": 1, "target": plan.start.as_str(), "storm": report })
        )
    } else {
        text(&report)
    })?;
    Ok(match report.violations.is_empty() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

fn logins(number: usize) -> String {
    match number {
        1 => "one login".to_owned(),
        _ => format!("{number} logins"),
    }
}

fn text(report: &StormReport) -> String {
    let (seconds, seed) = (report.seconds, report.seed);
    let instances = match report.instances {
        1 => "one instance: tell with `share` how two share their sessions".to_owned(),
        some => format!("{some} instances"),
    };
    let mut text = format!("A storm of {seconds} s, seed {seed}, on {instances}\n\n");
    for (what, number) in &report.counts {
        let _ = writeln!(text, "{number:>7}  {what}");
    }
    if report.violations.is_empty() {
        text += "\nNo user was signed in as another, none was locked out, and nothing was read or sent twice.\n";
    }
    for violation in &report.violations {
        let _ = writeln!(
            text,
            "\nFAIL  {} (seen in {})",
            violation.says,
            logins(violation.times)
        );
        for line in &violation.evidence {
            let _ = writeln!(
                text,
                "      {:>6} ms  {} \u{2192} {}: {}",
                line.at, line.from, line.to, line.what
            );
        }
    }
    text
}
