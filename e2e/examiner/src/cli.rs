//! The command line of the program `examine`.

mod changes;
mod init;
mod run;
mod settings;
mod watch;

use std::io::{self, Write as _};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

pub(crate) use changes::Changes;
use init::InitSettings;
pub(crate) use run::{Interruption, examine_shown};
use settings::Settings;
pub use settings::control_address;

/// Grades a consumer of the service: is this app, as it runs, correct and safe?
///
/// START is the page on which a visitor chooses to sign in. The app runs already,
/// configured for the stack at --control; or the examiner starts it by COMMAND, with
/// SIGNIN_BASE_URL, SIGNIN_CLIENT_ID, SIGNIN_CLIENT_SECRET, CONSUMER_BASE_URL, PORT and
/// KIT_CLOCK_URL in its environment, and a stack of its own.
///
/// The grade follows the attacks that are open: A+ (everything passes), A (good practice
/// is missing), B (an attack needs a second weakness), C (an attack is open), F (an
/// account was taken over).
#[derive(Debug, Parser)]
#[command(
    name = "examine",
    version,
    args_conflicts_with_subcommands = true,
    after_help = after_help("examine")
)]
pub struct Cli {
    #[command(flatten)]
    settings: Settings,

    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Look at the app, sign in once, and write examine.toml with what was found
    Init(InitSettings),
}

/// The end of the help, with examples for a program of this name.
pub fn after_help(program: &str) -> String {
    let text = include_str!("../templates/help.txt").trim_end();
    text.replace("{program}", program)
}

impl Cli {
    /// Examines the app, or writes `examine.toml`; an error is one line on standard error.
    pub async fn run(self) -> ExitCode {
        let settings = &self.settings;
        let done = match (&self.command, settings.storm) {
            (Some(Command::Init(settings)), _) => init::run(settings).await,
            (None, Some(seconds)) => run::run_storm(settings, seconds).await,
            (None, None) if settings.watch => watch::run(settings).await,
            (None, None) => run::run(settings).await,
        };
        done.unwrap_or_else(|error| failed("examine", &error))
    }
}

/// Says why the command `name` ended, in one line on standard error.
pub fn failed(name: &str, error: &str) -> ExitCode {
    let _ = writeln!(io::stderr(), "{}", run::error_text(name, error));
    run::FAILED.into()
}
