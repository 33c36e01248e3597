//! The command line of the program `stack`: it starts the whole stack and runs until
//! Ctrl-C.

mod banner;
mod imitations;

use std::error::Error;
use std::io::{self, IsTerminal as _, Write as _};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use broker::cli::health::status_at;
use broker::log_format::{ReadableFormat, log_panic_locations};
use clap::Parser;
use mock_upstream::users::KnownUsers;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::{Stack, StackSettings, StackStartError};
use imitations::ImitationFlags;

/// The time that open requests have at the end. A browser keeps its connections open, and
/// the servers would wait for those.
const STOP_LIMIT: Duration = Duration::from_millis(100);

/// The whole sign-in stack on this machine: the demo, the broker, and imitations
/// of Google and GitHub.
#[derive(Debug, Parser)]
#[command(name = "stack", version, about)]
pub struct Cli {
    #[command(flatten)]
    settings: StackSettings,

    #[command(flatten)]
    imitations: ImitationFlags,

    /// A TOML file of your own users for the imitated providers, beside the ten that they
    /// have
    #[arg(long, value_name = "FILE")]
    people: Option<PathBuf>,

    /// Do not print the log of the broker and the demo
    #[arg(long, short)]
    quiet: bool,

    /// Start nothing: ask the stack at --control whether it is up, and end
    #[arg(long)]
    health: bool,
}

impl Cli {
    /// Runs the stack until a signal stops it; an error is one line on standard error.
    pub async fn run(self) -> ExitCode {
        log_panic_locations();
        if self.health {
            return exit_code(ask_health(self.settings.control()).await);
        }
        if !self.quiet {
            tracing_subscriber::fmt()
                .with_max_level(tracing::Level::INFO)
                .with_writer(io::stderr)
                .with_ansi(io::stderr().is_terminal())
                .event_format(ReadableFormat::WITH_TIME)
                .init();
        }
        exit_code(run(self).await)
    }
}

fn exit_code(result: Result<(), Box<dyn Error>>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "stack: {error}");
            ExitCode::FAILURE
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the user waits in real time, whatever our clock shows"
)]
async fn run(cli: Cli) -> Result<(), Box<dyn Error>> {
    // A sandbox has some 30 open files, and a class has many. Without more of them there is
    // still room for a few.
    let _ = rlimit::increase_nofile_limit(u64::MAX);
    let mut settings = cli.settings;
    if let Some(path) = &cli.people {
        settings.users = KnownUsers::with_people(path).map_err(StackStartError::People)?;
    }
    // Before the banner: a program that reads it may send a signal at once.
    let mut signals = StopSignals::register()?;
    if let Some(registrations) = cli.imitations.registrations() {
        let (_running, banner) = imitations::start(&settings, &registrations?).await?;
        io::stdout().write_all(banner.as_bytes())?;
        signals.wait_for_one().await;
        return Ok(());
    }
    let host = settings.host.clone();
    let stack = Stack::start(settings).await?;
    io::stdout().write_all(banner::of(&stack, host.as_ref()).as_bytes())?;
    signals.wait_for_one().await;
    // The end of the process closes what is still open.
    let _ = tokio::time::timeout(STOP_LIMIT, stack.stop()).await;
    Ok(())
}

/// Asks the stack with this control address whether it is up, where no other program can, as in
/// a container: by HTTP and by HTTPS, because a stack serves one.
async fn ask_health(control: SocketAddr) -> Result<(), Box<dyn Error>> {
    let call = |scheme| format!("{scheme}://{control}/api/stack");
    let answer = match status_at(&call("http")).await {
        Ok(status) if status.is_success() => Ok(status),
        _ => status_at(&call("https")).await,
    };
    match answer {
        Ok(status) if status.is_success() => Ok(writeln!(io::stdout(), "up")?),
        _ => Err(format!("no stack answers at {control}; --control is its address").into()),
    }
}

/// The signals that end the program, from their registration on.
struct StopSignals([Signal; 3]);

impl StopSignals {
    fn register() -> io::Result<Self> {
        Ok(Self([
            signal(SignalKind::interrupt())?,
            signal(SignalKind::terminate())?,
            // The terminal was closed.
            signal(SignalKind::hangup())?,
        ]))
    }

    async fn wait_for_one(&mut self) {
        let [interrupt, terminate, hangup] = &mut self.0;
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
        }
    }
}
