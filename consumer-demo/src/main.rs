//! The command line: reads flags and environment, serves, and stops on Ctrl-C.

use std::fmt;
use std::io::{self, IsTerminal as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use consumer_demo::{App, Clock, Config, StartError};
use contract::{ClientId, ClientSecret, Origin};
use rocket::error::ErrorKind;
use rocket::fairing::AdHoc;
use rocket::{Ignite, Rocket, Shutdown};
use tokio::task::JoinSet;

/// The name of the one setting that has no flag.
const SECRET_VARIABLE: &str = "SIGNIN_CLIENT_SECRET";

/// The reference consumer of the Federated Sign-In Service: signs people in
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
struct Arguments {
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

    /// Where people reach this application.
    #[arg(
        long,
        env = "CONSUMER_BASE_URL",
        value_name = "ORIGIN",
        default_value = "http://localhost:3000"
    )]
    consumer_base_url: Origin,

    /// The origin at which browsers reach the broker; an authorization_url that leads
    /// to any other is refused. [default: that of --signin-base-url]
    #[arg(long, env = "SIGNIN_AUTHORIZATION_ORIGIN", value_name = "ORIGIN")]
    authorization_origin: Option<Origin>,

    /// Listen here; may be given several times. [default: this machine only,
    /// 127.0.0.1 and ::1, on the port of --consumer-base-url]
    #[arg(
        long,
        env = "CONSUMER_LISTEN",
        value_name = "ADDRESS:PORT",
        value_delimiter = ','
    )]
    listen: Vec<SocketAddr>,
}

#[tokio::main]
async fn main() -> ExitCode {
    // Before anything else may panic: a panic's message can quote what it held.
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string);
        tracing::error!(place, "a panic");
    }));
    write_log();
    match run(Arguments::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            tell(&problem);
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: Arguments) -> Result<(), Problem> {
    let listen = arguments.listen();
    let app = App::new(arguments.config()?, Clock::system()).map_err(Problem::Start)?;

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
        let ended = ended.unwrap_or(Err(Problem::Panicked));
        if let Err(Problem::NoSuchAddress(bind)) = ended {
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

async fn ignite(app: &Arc<App>, bind: SocketAddr) -> Result<Rocket<Ignite>, Problem> {
    let listening = AdHoc::on_liftoff("Address", |rocket| {
        Box::pin(async {
            let config = rocket.config();
            let address = SocketAddr::new(config.address, config.port);
            tracing::info!(%address, "listening");
        })
    });
    let server = app.rocket(bind).map_err(Problem::Start)?.attach(listening);
    server
        .ignite()
        .await
        .map_err(|error| Problem::of(&error, bind))
}

async fn serve(server: Rocket<Ignite>, bind: SocketAddr) -> Result<(), Problem> {
    match server.launch().await {
        Ok(_) => Ok(()),
        Err(error) => Err(Problem::of(&error, bind)),
    }
}

/// Waits for Ctrl-C, or for what a process manager sends, and stops every server.
async fn stop_on_signal(shutdowns: Vec<Shutdown>) -> Result<(), Problem> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate()).map_err(Problem::Signals)?;
    tokio::select! {
        interrupted = tokio::signal::ctrl_c() => interrupted.map_err(Problem::Signals)?,
        _ = terminate.recv() => {}
    }
    for shutdown in shutdowns {
        shutdown.notify();
    }
    Ok(())
}

impl Arguments {
    fn config(self) -> Result<Config, Problem> {
        let mut config = Config::new(
            self.signin_base_url,
            self.client_id,
            client_secret()?,
            self.consumer_base_url,
        );
        if let Some(origin) = self.authorization_origin {
            config.authorization_origin = origin;
        }
        Ok(config)
    }

    /// Where to listen. `localhost` may mean 127.0.0.1 or ::1, and browsers try
    /// both, so both are ours; nothing listens to the network unless told to.
    fn listen(&self) -> Vec<SocketAddr> {
        if !self.listen.is_empty() {
            return self.listen.clone();
        }
        let port = url::Url::parse(self.consumer_base_url.as_str())
            .ok()
            .filter(|_| self.consumer_base_url.is_loopback())
            .and_then(|url| url.port_or_known_default())
            .unwrap_or(3000);
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
fn client_secret() -> Result<ClientSecret, Problem> {
    std::env::var(SECRET_VARIABLE)
        .map_err(|_| Problem::Secret("is not set"))?
        .try_into()
        .map_err(|_| Problem::Secret("must have 1 to 200 characters"))
}

/// The log goes to standard error, `info` and above: one line per request, and
/// whatever went wrong.
///
/// Records of the `log` crate, which Rocket writes, are not taken in: Rocket
/// logs whole request lines.
fn write_log() {
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::INFO)
        .with_writer(io::stderr)
        // It would be written to standard error, and panic if that is what failed: a
        // closed pipe would end the application.
        .log_internal_errors(false)
        .with_ansi(io::stderr().is_terminal())
        .with_target(false)
        .finish();
    // It can fail only if there is one already; then that one does.
    let _ = tracing::subscriber::set_global_default(subscriber);
}

/// Why the program ends before its time, in one line each.
enum Problem {
    Secret(&'static str),
    Start(StartError),
    Listen(SocketAddr, io::Error),
    NoSuchAddress(SocketAddr),
    Server(SocketAddr, String),
    Signals(io::Error),
    Panicked,
}

impl Problem {
    /// What `error` means for the server on `bind`.
    fn of(error: &rocket::Error, bind: SocketAddr) -> Self {
        match error.kind() {
            // A machine without IPv6: fine, as long as 127.0.0.1 works.
            ErrorKind::Bind(error)
                if bind.ip() == Ipv6Addr::LOCALHOST
                    && error.kind() == io::ErrorKind::AddrNotAvailable =>
            {
                Problem::NoSuchAddress(bind)
            }
            ErrorKind::Bind(error) => {
                Problem::Listen(bind, io::Error::new(error.kind(), error.to_string()))
            }
            kind => Problem::Server(bind, kind.to_string()),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Secret(what) => write!(f, "{SECRET_VARIABLE} {what}"),
            Problem::Start(error) => error.fmt(f),
            Problem::Listen(bind, error) if error.kind() == io::ErrorKind::AddrInUse => {
                write!(f, "{bind} is taken by another program (see --listen)")
            }
            Problem::Listen(bind, error) => write!(f, "cannot listen on {bind}: {error}"),
            Problem::NoSuchAddress(bind) => write!(f, "this machine has no address {bind}"),
            Problem::Server(bind, what) => write!(f, "the server on {bind} failed: {what}"),
            Problem::Signals(error) => write!(f, "cannot listen for signals: {error}"),
            Problem::Panicked => f.write_str("a server panicked"),
        }
    }
}

#[expect(
    clippy::print_stderr,
    reason = "the last word of a program that ends, to whoever started it"
)]
fn tell(problem: &Problem) {
    eprintln!("consumer-demo: {problem}");
}
