//! The program: reads the command line and the environment, runs one server per address, and
//! stops on Ctrl-C or SIGTERM.

use std::io::{self, IsTerminal as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Parser;
use contract::{ClientId, ClientSecret, Origin};
use rocket::error::ErrorKind;
use rocket::fairing::AdHoc;
use rocket::{Ignite, Rocket, Shutdown};
use tokio::task::JoinSet;

use crate::{App, Clock, Config, StartError};

/// The one setting that has no flag.
const SECRET_VARIABLE: &str = "SIGNIN_CLIENT_SECRET";

/// The reference consumer of the Federated Sign-In Service: signs users in
/// through a broker, by the clean callback flow and by the legacy one.
#[derive(Parser)]
#[command(
    version,
    after_help = "\
Environment only:
  SIGNIN_CLIENT_SECRET  the project's client secret. It has no flag, because
                        flags show in the list of processes.

Register both callbacks with the broker:
  {CONSUMER_BASE_URL}/callback
  {CONSUMER_BASE_URL}/legacy/callback"
)]
pub struct Arguments {
    /// Base address of the broker: HTTPS, or HTTP on this machine.
    #[arg(
        long,
        env = "SIGNIN_BASE_URL",
        value_name = "ORIGIN",
        default_value = "http://127.0.0.1:8000"
    )]
    signin_base_url: Origin,

    /// The project's identifier at the broker.
    #[arg(long, env = "SIGNIN_CLIENT_ID", value_name = "ID")]
    client_id: ClientId,

    /// The origin at which users reach this application.
    #[arg(
        long,
        env = "CONSUMER_BASE_URL",
        value_name = "ORIGIN",
        default_value = "http://localhost:3000"
    )]
    consumer_base_url: Origin,

    /// The origin at which browsers reach the broker; an authorization_url of any
    /// other is refused. [default: that of --signin-base-url]
    #[arg(long, env = "SIGNIN_AUTHORIZATION_ORIGIN", value_name = "ORIGIN")]
    authorization_origin: Option<Origin>,

    /// A PEM file with certificate authorities that are trusted for the broker besides
    /// the system's.
    #[arg(long, env = "SIGNIN_CA_FILE", value_name = "FILE")]
    broker_ca: Option<PathBuf>,

    /// Wait this long for an answer of the broker, in seconds.
    #[arg(
        long,
        env = "CALL_SECONDS",
        value_name = "SECONDS",
        default_value_t = 10,
        value_parser = clap::value_parser!(u64).range(1..=60)
    )]
    call_seconds: u64,

    /// Keep sessions and accounts in this file, which outlives the program and which several
    /// processes may share. [default: in memory]
    #[arg(long, env = "SESSIONS_DB", value_name = "FILE")]
    sessions_db: Option<PathBuf>,

    /// Listen on this port of 127.0.0.1 and ::1. Behind a load balancer each instance has its
    /// own. [default: that of --consumer-base-url]
    #[arg(long, env = "PORT", value_name = "PORT")]
    port: Option<u16>,

    /// Listen here instead; may be given several times. [default: this machine only,
    /// 127.0.0.1 and ::1]
    #[arg(
        long,
        env = "CONSUMER_LISTEN",
        value_name = "ADDRESS:PORT",
        value_delimiter = ','
    )]
    listen: Vec<SocketAddr>,
}

impl Arguments {
    /// The configuration that the flags and the environment describe.
    fn config(self) -> Result<Config, ProgramError> {
        let mut config = Config::new(
            self.signin_base_url,
            self.client_id,
            client_secret()?,
            self.consumer_base_url,
        );
        config.broker_timeout = Duration::from_secs(self.call_seconds);
        config.sessions_db = self.sessions_db;
        if let Some(origin) = self.authorization_origin {
            config.authorization_origin = origin;
        }
        if let Some(path) = self.broker_ca {
            let pem = read_regular(&path);
            config.broker_ca = Some(pem.map_err(|error| ProgramError::BrokerCa(path, error))?);
        }
        Ok(config)
    }

    /// The addresses to listen on. `localhost` may mean 127.0.0.1 or ::1, and browsers
    /// try both, so both are the default; only `--listen` opens the program to the
    /// network.
    fn listen(&self) -> Vec<SocketAddr> {
        if !self.listen.is_empty() {
            return self.listen.clone();
        }
        let port = url::Url::parse(self.consumer_base_url.as_str())
            .ok()
            .filter(|_| self.consumer_base_url.is_loopback())
            .and_then(|url| url.port_or_known_default());
        let port = self.port.or(port).unwrap_or(3000);
        [
            IpAddr::from(Ipv4Addr::LOCALHOST),
            IpAddr::from(Ipv6Addr::LOCALHOST),
        ]
        .map(|address| SocketAddr::new(address, port))
        .to_vec()
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "part of reading the configuration"
)]
fn client_secret() -> Result<ClientSecret, ProgramError> {
    std::env::var(SECRET_VARIABLE)
        .map_err(|_| ProgramError::Secret("is not set"))?
        .try_into()
        .map_err(|_| ProgramError::Secret("must have 1 to 200 characters"))
}

/// Reads a file of at most 1 MiB: a pipe would wait, a device would never end.
fn read_regular(path: &Path) -> io::Result<String> {
    let metadata = path.metadata()?;
    match metadata.is_file() && metadata.len() <= 1024 * 1024 {
        true => std::fs::read_to_string(path),
        false => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is no regular file of at most 1 MiB",
        )),
    }
}

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
    let ended = server.launch().await;
    ended.map(drop).map_err(|error| server_error(&error, bind))
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
        ErrorKind::Bind(error) if error.kind() == io::ErrorKind::AddrInUse => {
            ProgramError::Taken(bind)
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

/// Why the program ended. Each prints as one line.
#[derive(Debug, thiserror::Error)]
enum ProgramError {
    #[error("{} {}", SECRET_VARIABLE, .0)]
    Secret(&'static str),
    #[error("--broker-ca {} cannot be read: {}", .0.display(), .1)]
    BrokerCa(PathBuf, io::Error),
    #[error(transparent)]
    Start(StartError),
    #[error("{0} is taken by another program (see --listen)")]
    Taken(SocketAddr),
    #[error("cannot listen on {0}: {1}")]
    Listen(SocketAddr, io::Error),
    /// This machine does not have the address, such as ::1 without IPv6.
    #[error("this machine has no address {0}")]
    NoSuchAddress(SocketAddr),
    #[error("the server on {0} failed: {1}")]
    Server(SocketAddr, String),
    #[error("cannot listen for signals: {0}")]
    Signals(io::Error),
    #[error("a server panicked")]
    Panicked,
}
