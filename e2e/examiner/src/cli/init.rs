//! `examine init`: looks at the app, signs in, and writes what it found.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use agent::url::path_and_query;
use clap::Args;

use super::run::{INTERRUPTED, Interruption};
use super::settings::{AppSettings, ConfigFile, FILE_NAME};
use crate::app::{App, Step};
use crate::examination;
use crate::learn::PreflightStep;
use crate::plan::ExaminationPlan;
use crate::report::program;

/// The app that `examine init` looks at.
#[derive(Debug, Args)]
pub struct InitSettings {
    #[command(flatten)]
    app: AppSettings,

    /// The file to write
    #[arg(long, value_name = "FILE", default_value = FILE_NAME)]
    output: PathBuf,
}

/// Writes `examine.toml`; an existing file stays as it is.
pub(super) async fn run(settings: &InitSettings) -> Result<ExitCode, String> {
    let path = &settings.output;
    if path.exists() {
        return Err(format!(
            "{} exists already: remove it, or give another --output",
            path.display()
        ));
    }
    let plan = settings.app.plan(ConfigFile::default())?;
    let interruption = Interruption::listen();
    let found = examination::preflight(&plan, interruption.wait()).await?;
    let Some((app, found)) = found else {
        return Ok(INTERRUPTED.into());
    };
    let text = config(&plan, &app);
    write_new(path, &text)?;
    let _ = write!(std::io::stdout(), "{}", summary(&found, path));
    Ok(ExitCode::SUCCESS)
}

fn write_new(path: &Path, text: &str) -> Result<(), String> {
    let file = std::fs::File::create_new(path);
    let written = file.and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| format!("--output {}: {error}", path.display()))
}

fn config(plan: &ExaminationPlan, app: &App) -> String {
    let origin = crate::browser::origin(&plan.start);
    let callbacks = app.ways.iter();
    let callbacks = callbacks.map(|way| format!("{origin}{}", way.callback));
    let callbacks: BTreeSet<_> = callbacks.collect();
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
    for (provider, step) in &plan.hints.sign_in {
        let _ = writeln!(text, "sign_in.{provider} = {}", quoted(&step.setting()));
    }
    if let Some(step) = &plan.hints.sign_out {
        let _ = writeln!(text, "sign_out = {}", quoted(&step.setting()));
    }
    let _ = match &plan.share {
        Some(share) => writeln!(text, "share.command = {}", list(&share.command)),
        None => writeln!(text, "{SHARE_HINT}"),
    };
    for (name, value) in plan.share.iter().flat_map(|share| &share.env) {
        let _ = writeln!(text, "share.env.{name} = {}", quoted(value));
    }
    if !plan.log.is_empty() {
        let logs: Vec<_> = plan.log.iter().map(|it| it.display().to_string()).collect();
        let _ = writeln!(text, "log      = {}", list(&logs));
    }
    let found = app.sign_out.as_ref().map(Step::describe);
    if let Some(step) = found {
        let _ = writeln!(text, "# Sign-out is {step}.");
    }
    for way in &app.ways {
        let steps: Vec<_> = way.steps.iter().map(Step::describe).collect();
        let _ = writeln!(
            text,
            "# The {} flow by {} starts by {}.",
            way.flow.as_str(),
            way.provider,
            steps.join(", then ")
        );
    }
    text
}

const SHARE_HINT: &str = "# How two instances share their sessions, for example:\n\
    # share.env.SESSIONS_DB = \"{folder}/sessions.sqlite\"";

fn summary(found: &[PreflightStep], path: &Path) -> String {
    let mut text = String::new();
    for step in found {
        let _ = writeln!(text, "{:<10} {}", step.step, step.says);
    }
    let (path, program) = (path.display(), program());
    let _ = writeln!(text, "\nWrote {path}. Now run `{program}`.");
    text
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn list<'a>(items: impl IntoIterator<Item = &'a String>) -> String {
    let items: Vec<_> = items.into_iter().map(|it| quoted(it)).collect();
    format!("[{}]", items.join(", "))
}
