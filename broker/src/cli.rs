//! What each command does, and the one line it says when it cannot.

mod check;
mod credentials;

use std::error::Error;
use std::io::{IsTerminal as _, Write as _};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use broker::config::{Config, LogFormat};
use broker::http::InFlight;
use broker::store::StoreError;
use broker::{Broker, StartError, Surroundings};
use clap::{Parser, Subcommand};
use contract::RedirectUri;
use rocket::error::ErrorKind;
use rocket::fairing::AdHoc;
use tokio::signal::unix::{SignalKind, signal};

/// The Federated Sign-In broker.
#[derive(Debug, Parser)]
#[command(version, about, after_help = CONFIGURATION)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Command,
}

const CONFIGURATION: &str = "\
Every key of the configuration file can also come from the environment: \
BROKER_UPSTREAM__GOOGLE__CLIENT_SECRET sets client_secret in [upstream.google].";

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve until Ctrl-C or SIGTERM
    Serve {
        /// The configuration file
        #[arg(long, default_value = "broker.toml")]
        config: PathBuf,
    },
    /// Read the configuration, open the store, and say what would be served
    Check {
        /// The configuration file
        #[arg(long, default_value = "broker.toml")]
        config: PathBuf,
        /// Also ask the providers' servers, without credentials
        #[arg(long)]
        online: bool,
    },
    /// Make a project's credentials: the TOML to add on standard output, the
    /// secret, which is shown only now, on standard error
    NewProject {
        /// What people know the project by
        name: String,
        /// A callback, exactly as browsers will come back to it; repeat for more
        #[arg(long = "redirect-uri", required = true, value_name = "URL")]
        redirect_uris: Vec<RedirectUri>,
    },
    /// Make another secret for a project, beside which the one it has stays good:
    /// the TOML on standard output, the secret, shown only now, on standard error
    NewSecret {
        /// The project's client_id
        client_id: String,
        /// The configuration file
        #[arg(long, default_value = "broker.toml")]
        config: PathBuf,
    },
}

type Outcome = Result<(), Box<dyn Error>>;

/// A write past a limit on the size of files (`ulimit -f`, systemd's `LimitFSIZE`)
/// raises a signal that ends the process. Once handled, by nobody, such a write
/// fails like one to a full disk, and so does the step that it was for.
fn outlive_a_limit_on_files() -> std::io::Result<()> {
    // The same number on Linux (but for MIPS), macOS and the BSDs.
    const SIGXFSZ: SignalKind = SignalKind::from_raw(25);
    // Handled for the rest of the process, although nobody listens.
    signal(SIGXFSZ).map(drop)
}

/// Says what went wrong, in one line.
pub(crate) fn complain(error: &dyn Error) {
    let _ = writeln!(std::io::stderr(), "broker: {error}");
}

impl Cli {
    pub(crate) async fn run(self) -> Outcome {
        outlive_a_limit_on_files()?;
        match self.command {
            Command::Serve { config } => serve(Config::load(&config)?).await,
            Command::Check { config, online } => {
                let config = Config::load(&config)?;
                let upstream = config.upstream.clone();
                check::check(config).await?;
                if online {
                    check::ask_providers(&upstream).await?;
                }
                Ok(())
            }
            Command::NewProject {
                name,
                redirect_uris,
            } => credentials::new_project(&name, &redirect_uris),
            Command::NewSecret { client_id, config } => {
                credentials::new_secret(&client_id, &Config::load(&config)?)
            }
        }
    }
}

async fn serve(config: Config) -> Outcome {
    write_log(config.log.format);
    broker::panics::say_only_where();
    let (bind, url) = (config.bind, config.store.url.clone());
    let broker = assemble(config)?;
    match broker.ready().await {
        Ok(()) => {}
        // No outage: it would never be over.
        Err(source @ StoreError::OtherVersion(_)) => {
            return Err(StartError::Store { url, source }.into());
        }
        Err(error) => {
            tracing::warn!(%error, "serving without the store: 503 until it can be reached");
        }
    }
    let rocket = broker.rocket().attach(say_where()).ignite().await?;
    stop_on_signal(rocket.shutdown())?;
    let in_flight = rocket.state::<InFlight>().cloned().unwrap_or_default();
    let all_are_home = last_is_home(rocket.shutdown(), in_flight);
    let launched = tokio::select! {
        launched = rocket.launch() => launched,
        () = all_are_home => return Ok(()),
    };
    match launched {
        Ok(_) => Ok(()),
        Err(error) => Err(match error.kind() {
            // Somebody was still waiting for a provider; they start again.
            ErrorKind::Shutdown(..) => return Ok(()),
            ErrorKind::Bind(source) => format!(
                "cannot listen on {bind}: {source}; choose another with bind or BROKER_BIND"
            )
            .into(),
            other => other.to_string().into(),
        }),
    }
}

/// Waits until the broker is told to stop, and then until whoever was on the way
/// has an answer.
#[expect(
    clippy::disallowed_methods,
    reason = "the last bytes of an answer, and requests on the wire, are the system's to carry"
)]
async fn last_is_home(told_to_stop: rocket::Shutdown, in_flight: InFlight) {
    const LAST_BYTES: Duration = Duration::from_secs(1);
    told_to_stop.await;
    tokio::time::sleep(LAST_BYTES).await;
    in_flight.none().await;
    tokio::time::sleep(LAST_BYTES).await;
}

fn assemble(config: Config) -> Result<Broker, StartError> {
    Broker::assemble(config, Surroundings::default())
}

/// Says where it listens, once it does; port 0 has become a real one then.
fn say_where() -> AdHoc {
    AdHoc::on_liftoff("log", |rocket| {
        let config = rocket.config();
        let address = SocketAddr::new(config.address, config.port);
        Box::pin(async move { tracing::info!(%address, "serving") })
    })
}

/// Listens for signals from now on, not from when the task first runs.
fn stop_on_signal(shutdown: rocket::Shutdown) -> std::io::Result<()> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::spawn(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        shutdown.notify();
    });
    Ok(())
}

fn write_log(format: LogFormat) {
    let log = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::INFO)
        .with_writer(std::io::stderr)
        // It would be told to standard error, and panic if that is what failed: a
        // log on a full disk would end the broker.
        .log_internal_errors(false)
        .with_ansi(std::io::stderr().is_terminal());
    match format {
        LogFormat::Readable => log.init(),
        LogFormat::Json => log.json().init(),
    }
}
