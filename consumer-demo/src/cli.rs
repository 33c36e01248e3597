//! The program: runs one server per address, and stops on Ctrl-C or SIGTERM.

mod arguments;

use std::io::{self, IsTerminal as _};
use std::net::{Ipv6Addr, SocketAddr};
use std::process::ExitCode;
use std::sync::Arc;

use rocket::error::ErrorKind;
use rocket::fairing::AdHoc;
use rocket::{Ignite, Rocket, Shutdown};
use tokio::task::JoinSet;

use crate::{App, Clock};
use arguments::ProgramError;

pub use arguments::Arguments;

impl Arguments {
    /// Serves until a signal; an error is one line on standard error.
    pub async fn serve(self) -> ExitCode {
        // Before anything else may panic: a panic's message can quote a secret.
        std::panic::set_hook(Box::new(|panic| {
            let location = panic.location().map(ToString::to_string);
            tracing::error!(location, "a panic");
        }));
        init_log();
        match run(self).await {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                print(&error);
                ExitCode::FAILURE
            }
        }
    }
}

async fn run(arguments: Arguments) -> Result<(), ProgramError> {
    let listen = arguments.listen();
    let app = App::new(arguments.config()?, Clock::system()).map_err(ProgramError::Start)?;

    // All are made before the first is started: making a server sets Rocket's
    // own log back to its default for a moment.
    let mut ready = Vec::new();
    for bind in listen {
        ready.push((ignite(&app, bind).await?, bind));
    }
    let mut servers = JoinSet::new();
    servers.spawn(stop_on_signal(
        ready.iter().map(|(server, _)| server.shutdown()).collect(),
    ));
    for (server, bind) in ready {
        servers.spawn(serve(server, bind));
    }

    // The first to end ends all: a signal, or a server that could not listen.
    let mut outcome = Ok(());
    while let Some(ended) = servers.join_next().await {
        let ended = ended.unwrap_or(Err(ProgramError::Panicked));
        if let Err(ProgramError::NoSuchAddress(bind)) = ended {
            tracing::warn!(%bind, "this machine has no such address; left out");
            continue;
        }
        if outcome.is_ok() {
            outcome = ended;
        }
        if outcome.is_err() {
            servers.abort_all();
        }
    }
    outcome
}

async fn ignite(app: &Arc<App>, bind: SocketAddr) -> Result<Rocket<Ignite>, ProgramError> {
    let log_address = AdHoc::on_liftoff("Address", |rocket| {
        Box::pin(async {
            let config = rocket.config();
            let address = SocketAddr::new(config.address, config.port);
            tracing::info!(%address, "listening");
        })
    });
    let server = app.rocket(bind).map_err(ProgramError::Start)?;
    server
        .attach(log_address)
        .ignite()
        .await
        .map_err(|error| server_error(&error, bind))
}

async fn serve(server: Rocket<Ignite>, bind: SocketAddr) -> Result<(), ProgramError> {
    match server.launch().await {
        Ok(_) => Ok(()),
        Err(error) => Err(server_error(&error, bind)),
    }
}

fn server_error(error: &rocket::Error, bind: SocketAddr) -> ProgramError {
    match error.kind() {
        // A machine without IPv6: fine, as long as 127.0.0.1 works.
        ErrorKind::Bind(error)
            if bind.ip() == Ipv6Addr::LOCALHOST
                && error.kind() == io::ErrorKind::AddrNotAvailable =>
        {
            ProgramError::NoSuchAddress(bind)
        }
        ErrorKind::Bind(error) => {
            ProgramError::Listen(bind, io::Error::new(error.kind(), error.to_string()))
        }
        kind => ProgramError::Server(bind, kind.to_string()),
    }
}

/// Waits for Ctrl-C, or for the SIGTERM of a process manager, and stops every server.
async fn stop_on_signal(shutdowns: Vec<Shutdown>) -> Result<(), ProgramError> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate()).map_err(ProgramError::Signals)?;
    tokio::select! {
        interrupted = tokio::signal::ctrl_c() => interrupted.map_err(ProgramError::Signals)?,
        _ = terminate.recv() => {}
    }
    for shutdown in shutdowns {
        shutdown.notify();
    }
    Ok(())
}

/// Writes the log to standard error, `info` and above: one line per request, and
/// every failure.
///
/// Records of the `log` crate, which Rocket writes, are left out: Rocket logs whole
/// request lines.
fn init_log() {
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::INFO)
        .with_writer(io::stderr)
        // An error of the log would be written to standard error, and panic if that is
        // what failed: a closed pipe would end the application.
        .log_internal_errors(false)
        .with_ansi(io::stderr().is_terminal())
        .with_target(false)
        .finish();
    // It fails only if a subscriber is set already; then that one stays.
    let _ = tracing::subscriber::set_global_default(subscriber);
}

#[expect(
    clippy::print_stderr,
    reason = "the error message of a program that ends"
)]
fn print(error: &ProgramError) {
    eprintln!("consumer-demo: {error}");
}
