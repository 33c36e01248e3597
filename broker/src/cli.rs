//! The command line: `serve`, `check`, `health`, `verify-log`; the credentials of `new-project` and
//! `new-secret`; and the one line of an error.

mod check;
pub mod health;
mod serve;
mod verify_log;

use std::error::Error;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use contract::{ClientSecret, Digest, RedirectUri};
use tokio::signal::unix::{SignalKind, signal};

use crate::config::Config;
use crate::projects::{Project, ProjectName};
use crate::random::bytes32;
use verify_log::VerifyLog;

/// The Federated Sign-In broker.
#[derive(Debug, Parser)]
#[command(version, about, after_help = CONFIGURATION)]
pub struct Cli {
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
    /// Check the configuration, open the store, and report what would be served
    Check {
        /// The configuration file
        #[arg(long, default_value = "broker.toml")]
        config: PathBuf,
        /// Also check that the providers' servers can be reached, without credentials
        #[arg(long)]
        online: bool,
    },
    /// Ask the broker that serves with this configuration whether it is ready
    Health {
        /// The configuration file
        #[arg(long, default_value = "broker.toml")]
        config: PathBuf,
    },
    /// Judge the JSON logs of brokers: was everything that is used once used once?
    VerifyLog(VerifyLog),
    /// Make a project's credentials: the TOML to add on standard output, the
    /// secret, which is shown only once, on standard error
    NewProject {
        /// The project's display name, in 1 to 80 characters
        name: String,
        /// A callback, exactly as browsers will request it; repeat for more
        #[arg(long = "redirect-uri", required = true, value_name = "URL", value_parser = RedirectUri::from_argument)]
        redirect_uris: Vec<RedirectUri>,
    },
    /// Make a second secret for a project; the present one stays valid. The TOML on
    /// standard output, the secret, which is shown only once, on standard error
    NewSecret {
        /// The project's client_id
        client_id: String,
        /// The configuration file
        #[arg(long, default_value = "broker.toml")]
        config: PathBuf,
    },
}

/// Keeps the process alive when a write exceeds a limit on the size of files (`ulimit
/// -f`, systemd's `LimitFSIZE`), which raises a signal. With a handler such a write
/// fails like one to a full disk, and so does its step.
fn handle_file_size_signal() -> std::io::Result<()> {
    // The same number on Linux (except MIPS), macOS and the BSDs.
    const SIGXFSZ: SignalKind = SignalKind::from_raw(25);
    // The handler stays for the rest of the process, without a listener.
    signal(SIGXFSZ).map(drop)
}

/// Writes an error to standard error, in one line.
fn print_error(error: &dyn Error) {
    let _ = writeln!(std::io::stderr(), "broker: {error}");
}

impl Cli {
    /// Runs the command; an error is one line on standard error.
    pub async fn run(self) -> ExitCode {
        match self.command.run().await {
            Ok(code) => code,
            Err(error) => {
                print_error(&*error);
                ExitCode::FAILURE
            }
        }
    }
}

impl Command {
    async fn run(self) -> Result<ExitCode, Box<dyn Error>> {
        handle_file_size_signal()?;
        match self {
            Command::VerifyLog(logs) => return logs.run(),
            Command::Serve { config } => serve::serve(Config::load(&config)?).await?,
            Command::Check { config, online } => {
                let config = Config::load(&config)?;
                let upstream = config.upstream.clone();
                check::check(config).await?;
                if online {
                    check::check_connectivity(&upstream).await?;
                }
            }
            Command::Health { config } => health::health(&Config::load(&config)?).await?,
            Command::NewProject {
                name,
                redirect_uris,
            } => new_project(&name.parse()?, &redirect_uris)?,
            Command::NewSecret { client_id, config } => {
                new_secret(&client_id, &Config::load_projects(&config)?)?;
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Makes credentials for a project: the TOML for the configuration on standard output, and the
/// secret, which is shown only once, on standard error.
fn new_project(name: &ProjectName, redirect_uris: &[RedirectUri]) -> Result<(), Box<dyn Error>> {
    let secret = ClientSecret::from_random(&bytes32());
    let mut id = Digest::from_bytes(bytes32()).to_text();
    id.truncate(22);
    let client_id = format!("prj_{id}");
    let callbacks: Vec<_> = redirect_uris
        .iter()
        .map(|uri| quoted(uri.as_str()))
        .collect();
    let mut out = std::io::stdout().lock();
    writeln!(out, "\n[[project]]")?;
    writeln!(out, "name = {}", toml_text(name.as_str()))?;
    writeln!(out, "client_id = {}", quoted(&client_id))?;
    digest_line(&mut out, "client_secret_sha256", &secret.digest())?;
    writeln!(out, "redirect_uris = [{}]", callbacks.join(", "))?;
    print_secret(&client_id, &secret)
}

/// Makes a second secret for a configured project.
fn new_secret(client_id: &str, projects: &[Project]) -> Result<(), Box<dyn Error>> {
    let project = projects
        .iter()
        .find(|project| project.client_id.as_str() == client_id)
        .ok_or("no project of this configuration has that client_id: `broker check` lists them")?;
    if project.previous_client_secret_sha256.is_some() {
        return Err(
            "the project already has a previous_client_secret_sha256, and at most two secrets are \
             valid at once: remove that line first, when no backend uses the older one any more"
                .into(),
        );
    }
    let secret = ClientSecret::from_random(&bytes32());
    let mut out = std::io::stdout().lock();
    writeln!(out, "# Instead of the client_secret_sha256 of {client_id}:")?;
    digest_line(&mut out, "client_secret_sha256", &secret.digest())?;
    let previous = &project.client_secret_sha256;
    digest_line(&mut out, "previous_client_secret_sha256", previous)?;
    print_secret(client_id, &secret)
}

fn digest_line(out: &mut impl Write, key: &str, digest: &Digest) -> std::io::Result<()> {
    writeln!(out, "{key} = {}", quoted(&digest.to_text()))
}

fn print_secret(client_id: &str, secret: &ClientSecret) -> Result<(), Box<dyn Error>> {
    writeln!(
        std::io::stderr(),
        "client_id: {client_id}\nclient_secret (shown only once): {}",
        secret.expose()
    )?;
    Ok(())
}

fn quoted(text: &str) -> String {
    format!("{text:?}")
}

/// A TOML basic string of printable text: like JSON's, whose escapes TOML shares.
fn toml_text(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
