//! `examine init`: looks at the app, signs in, and writes what it found.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;

use super::config_file::FILE_NAME;
use super::settings::start_page;
use crate::app::{App, Step, path_and_query};
use crate::examination;
use crate::learn::PreflightStep;
use crate::plan::{DEFAULT_CONTROL, ExaminationPlan};

/// The app that `examine init` looks at.
#[derive(Debug, Args)]
pub struct InitSettings {
    /// The page on which a visitor chooses to sign in
    #[arg(value_name = "START")]
    start: String,

    /// The command that starts the app, after --
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,

    /// The control address of the stack that a running app uses
    #[arg(long, value_name = "URL", default_value = DEFAULT_CONTROL)]
    control: String,

    /// The file to write
    #[arg(long, value_name = "FILE", default_value = FILE_NAME)]
    output: PathBuf,
}

/// Writes `examine.toml`; an existing file stays as it is.
pub(super) async fn run(settings: &InitSettings) -> Result<(), String> {
    let path = &settings.output;
    if path.exists() {
        return Err(format!(
            "{} exists already: remove it, or give another --output",
            path.display()
        ));
    }
    let plan = ExaminationPlan {
        control: settings.control.clone(),
        command: settings.command.clone(),
        ..ExaminationPlan::new(start_page(&settings.start, None)?)
    };
    let (app, found) = examination::preflight(&plan).await?;
    let text = config(&plan, &app);
    write_new(path, &text)?;
    let _ = write!(std::io::stdout(), "{}", summary(&found, path));
    Ok(())
}

fn write_new(path: &Path, text: &str) -> Result<(), String> {
    let file = std::fs::File::create_new(path);
    let written = file.and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| format!("--output {}: {error}", path.display()))
}

fn config(plan: &ExaminationPlan, app: &App) -> String {
    let origin = crate::control::origin(&plan.start);
    let mut callbacks: Vec<_> = app
        .ways
        .iter()
        .map(|way| format!("{origin}{}", way.callback))
        .collect();
    callbacks.sort();
    callbacks.dedup();
    let mut text = String::from("# The app for `examine`; every key but start may be left out.\n");
    // Writing to a string cannot fail.
    let _ = writeln!(text, "start    = {}", quoted(plan.start.as_str()));
    if !plan.command.is_empty() {
        let _ = writeln!(text, "command  = {}", list(&plan.command));
    }
    let _ = writeln!(text, "callback = {}", list(&callbacks));
    if app.whoami != path_and_query(&plan.start) {
        let _ = writeln!(text, "whoami   = {}", quoted(&app.whoami));
    }
    let found = app.sign_out.as_ref().map(Step::describe);
    if let Some(step) = found {
        let _ = writeln!(text, "# sign-out found: {step}");
    }
    for way in &app.ways {
        let steps: Vec<_> = way.steps.iter().map(Step::describe).collect();
        let _ = writeln!(
            text,
            "# sign-in found: {} ({}, {} flow)",
            steps.join(", then "),
            way.provider,
            way.flow.as_str()
        );
    }
    text
}

fn summary(found: &[PreflightStep], path: &Path) -> String {
    let mut text = String::new();
    for step in found {
        let _ = writeln!(text, "{:<10} {}", step.step, step.says);
    }
    let _ = writeln!(text, "\nWrote {}. Now run `just examine`.", path.display());
    text
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn list(items: &[String]) -> String {
    let items: Vec<_> = items.iter().map(|it| quoted(it)).collect();
    format!("[{}]", items.join(", "))
}
