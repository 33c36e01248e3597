//! What each command does, and the one line it says when it cannot.

mod check;
mod credentials;
mod descriptors;
mod serve;

use std::error::Error;
use std::io::Write as _;
use std::path::PathBuf;

use broker::config::Config;
use broker::{Broker, Dependencies, StartError};
use clap::{Parser, Subcommand};
use contract::RedirectUri;
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
        /// The project's display name, in 1 to 80 characters
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
            Command::Serve { config } => serve::serve(Config::load(&config)?).await,
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
            } => credentials::new_project(&name.parse()?, &redirect_uris),
            Command::NewSecret { client_id, config } => {
                credentials::new_secret(&client_id, &Config::load(&config)?)
            }
        }
    }
}

fn assemble(config: Config) -> Result<Broker, StartError> {
    Broker::assemble(config, Dependencies::default())
}
