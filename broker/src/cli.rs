//! What each command does, and the one line it says when it cannot.

use std::error::Error;
use std::io::{IsTerminal as _, Write as _};
use std::net::SocketAddr;
use std::path::PathBuf;

use broker::clock::Clock;
use broker::config::{Config, LogFormat, UpstreamConfig};
use broker::random::bytes32;
use broker::store::StoreError;
use broker::upstream::online::{self, Finding};
use broker::{Broker, StartError, Surroundings};
use clap::{Parser, Subcommand};
use contract::{ClientSecret, Digest, Provider, RedirectUri};
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
                check(config).await?;
                if online {
                    ask_providers(&upstream).await?;
                }
                Ok(())
            }
            Command::NewProject {
                name,
                redirect_uris,
            } => new_project(&name, &redirect_uris),
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
    match rocket.launch().await {
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

async fn check(config: Config) -> Outcome {
    let mut out = std::io::stdout().lock();
    writeln!(out, "serves     {} on {}", config.base_url, config.bind)?;
    writeln!(out, "store      {}", config.store.url)?;
    for provider in Provider::ALL {
        let state = match provider {
            Provider::Google => config.upstream.google.as_ref().map(|google| google.enabled),
            Provider::GitHub => config.upstream.github.as_ref().map(|github| github.enabled),
        };
        let state = match state {
            None => "not configured",
            Some(false) => "switched off",
            Some(true) => "on",
        };
        let callback = broker::upstream::callback_url(config.base_url.as_str(), provider);
        writeln!(
            out,
            "{provider:<10} {state}; register the callback {callback}"
        )?;
    }
    for project in &config.projects {
        writeln!(out, "project    {} ({})", project.name, project.client_id)?;
    }
    let url = config.store.url.clone();
    let ready = assemble(config)?.ready().await;
    ready.map_err(|source| StartError::Store { url, source })?;
    writeln!(
        out,
        "The store opens. Nothing is wrong with this configuration."
    )?;
    Ok(())
}

/// Says what the providers' servers answer; an error if one does not as it should.
async fn ask_providers(upstream: &UpstreamConfig) -> Outcome {
    let findings = online::ask(upstream, &Clock::system()).await?;
    let mut out = std::io::stdout().lock();
    let mut failures = 0;
    for Finding { what, found } in findings {
        match found {
            Ok(found) => writeln!(out, "online     {what}: {found}")?,
            Err(failure) => {
                failures += 1;
                let advice = online::advice(failure);
                writeln!(out, "online     {what}: FAILED, {}", failure.why())?;
                writeln!(out, "           {advice}")?;
            }
        }
    }
    match failures {
        0 => Ok(()),
        1 => Err("one question to a provider failed, see above".into()),
        n => Err(format!("{n} questions to providers failed, see above").into()),
    }
}

fn new_project(name: &str, redirect_uris: &[RedirectUri]) -> Outcome {
    let secret = ClientSecret::from_random(&bytes32());
    let mut id = Digest::from_bytes(bytes32()).to_text();
    id.truncate(22);
    let client_id = format!("prj_{id}");
    let quoted = |text: &str| format!("{text:?}");
    let callbacks: Vec<_> = redirect_uris
        .iter()
        .map(|uri| quoted(uri.as_str()))
        .collect();
    let mut out = std::io::stdout().lock();
    writeln!(out, "\n[[project]]")?;
    writeln!(out, "name = {}", toml_text(name))?;
    writeln!(out, "client_id = {}", quoted(&client_id))?;
    writeln!(
        out,
        "client_secret_sha256 = {}",
        quoted(&secret.digest().to_text())
    )?;
    writeln!(out, "redirect_uris = [{}]", callbacks.join(", "))?;
    writeln!(
        std::io::stderr(),
        "client_id: {client_id}\nclient_secret (shown only now): {}",
        secret.expose()
    )?;
    Ok(())
}

/// A TOML basic string: like JSON's, whose escapes TOML shares. Only DEL, which
/// JSON writes as it is, TOML does not take.
fn toml_text(text: &str) -> String {
    let json = serde_json::Value::from(text).to_string();
    json.replace('\u{7f}', "\\u007f")
}
