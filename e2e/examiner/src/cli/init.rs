//! `examine init`: looks at the app, signs in, and writes what it found.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use agent::url::path_and_query;
use askama::Template;
use clap::Args;

use super::run::{INTERRUPTED, Interruption, print};
use super::settings::{AppSettings, FILE_NAME};
use crate::app::App;
use crate::catalogue::newest_version;
use crate::examination;
use crate::learn::PreflightStep;
use crate::plan::ExaminationPlan;
use crate::report::program;

/// The app that `examine init` looks at.
#[derive(Debug, Args)]
pub(super) struct InitSettings {
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
    let plan = settings.app.plan(AppSettings::default())?;
    let interruption = Interruption::listen();
    let found = examination::preflight(&plan, interruption.wait()).await?;
    let Some((app, found)) = found else {
        return Ok(INTERRUPTED.into());
    };
    let file = WrittenFile {
        plan: &plan,
        app: &app,
    };
    let text = file.render().map_err(|error| error.to_string())?;
    let created = File::create_new(path);
    let written = created.and_then(|mut created| created.write_all(text.as_bytes()));
    written.map_err(|error| format!("--output {}: {error}", path.display()))?;
    print(&summary(&found, path))?;
    Ok(ExitCode::SUCCESS)
}

/// `examine.toml`.
#[derive(Template)]
#[template(path = "examine.toml", escape = "none")]
struct WrittenFile<'a> {
    plan: &'a ExaminationPlan,
    app: &'a App,
}

impl WrittenFile<'_> {
    fn callbacks(&self) -> BTreeSet<String> {
        let origin = crate::browser::origin(&self.plan.start);
        let ways = self.app.ways.iter();
        ways.map(|way| format!("{origin}{}", way.callback))
            .collect()
    }
}

fn summary(found: &[PreflightStep], path: &Path) -> String {
    let steps = found.iter();
    let steps = steps.map(|it| format!("{:<10} {}\n", it.step, it.says));
    let (steps, path, program) = (steps.collect::<String>(), path.display(), program());
    format!("{steps}\nWrote {path}. Now run `{program}`.\n")
}

/// A text as TOML has it.
fn quoted(text: impl AsRef<str>) -> String {
    serde_json::Value::from(text.as_ref()).to_string()
}

fn list(items: impl IntoIterator<Item = impl AsRef<OsStr>>) -> String {
    let items = items.into_iter();
    let items: Vec<_> = items
        .map(|it| quoted(it.as_ref().to_string_lossy()))
        .collect();
    format!("[{}]", items.join(", "))
}
