//! The command line of `signin-kit practice`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use super::exercise::{Exercise, Language};
use super::folder::Folder;
use super::session::Session;
use super::{interpreter, words};
use crate::cli::{Interruption, control_address, failed};
use crate::control::Control;
use crate::plan::DEFAULT_CONTROL;

/// Practice on twelve apps that are wrong: see the attack, mend the app, until it fails
///
/// Writes a folder with the apps, watches it, and judges each save by the examiner. The progress
/// is in progress.json in that folder; the same command goes on with it. Each app gets a stack
/// of its own; a stack that runs at the control address shows the exercises at /practice.
///
/// The apps are in Python (3.11 or newer) or JavaScript (Node 22.13 or newer), and what they
/// need is installed into the folder. An app in Rust would take longer to compile than to judge.
#[derive(Debug, Args)]
pub struct Cli {
    /// The language of the apps [default: that of the folder, if it exists]
    #[arg(long = "in", value_name = "LANGUAGE", value_enum)]
    language: Option<Language>,

    /// The folder of the apps, which is made
    #[arg(long, value_name = "FOLDER", default_value = "practice")]
    folder: PathBuf,

    /// Begin with this exercise: its number, or its name like no-name
    /// [default: the first that is not solved]
    #[arg(long, value_name = "EXERCISE")]
    exercise: Option<String>,

    /// The control address of a stack that shows the exercises
    #[arg(long, value_name = "URL", default_value = DEFAULT_CONTROL)]
    control: String,
}

impl Cli {
    /// Runs the course until the learner ends it; an error is one line on standard error.
    pub async fn run(self) -> ExitCode {
        let done = self.practise().await;
        done.map_or_else(|error| failed("practice", &error), |()| ExitCode::SUCCESS)
    }

    async fn practise(self) -> Result<(), String> {
        let control = Control::at(&control_address(&self.control)?)?;
        let first = self.exercise.as_deref().map(place_of).transpose()?;
        let (folder, progress, is_new) = Folder::open(&self.folder, self.language)?;
        let shown = self.folder.display().to_string();
        match is_new {
            true => words::say(format!(
                "Made {shown}/ with {} apps that are wrong. You mend them; nothing here is graded.",
                Exercise::all().len() - 1
            )),
            false => words::say(format!("Going on in {shown}/.")),
        }
        let interpreter = interpreter::prepared(&folder.root, folder.language)?;
        let interruption = Interruption::listen();
        let session = Session::new(folder, progress, interpreter, control, interruption);
        session.run(first).await?;
        words::say(format!(
            "\nYour progress is in {shown}/progress.json; the same command goes on with it."
        ));
        Ok(())
    }
}

/// The place of the exercise that a flag names.
fn place_of(text: &str) -> Result<usize, String> {
    let number = text.parse::<usize>().ok().and_then(|it| it.checked_sub(1));
    let all = Exercise::all();
    let named = all.iter().position(|it| it.id == text);
    named
        .or(number.filter(|it| *it < all.len()))
        .ok_or_else(|| {
            let names: Vec<_> = all.iter().map(|it| it.id.as_str()).collect();
            format!(
                "--exercise {text}: there is no such exercise; there are 1 to {}, or {}",
                all.len(),
                names.join(", ")
            )
        })
}
