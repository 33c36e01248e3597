//! The command line.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, Subcommand};
use tokio::runtime::{Builder, Runtime};

use crate::cores::Cores;
use crate::error::BenchError;
use crate::logins::{self, Compared};
use crate::servers::{floor_hops, providers};

/// Measure the broker beside `floor-hops`, a server that makes the same calls and keeps
/// nothing.
#[derive(Debug, Parser)]
#[command(version)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Measure whole logins: CPU time, and the time of a request
    Logins {
        /// The broker to measure
        #[arg(long, value_name = "PROGRAM")]
        broker: PathBuf,
        /// An earlier broker to measure beside it
        #[arg(long, value_name = "PROGRAM")]
        against: Option<PathBuf>,
        /// The rounds; in each, every server serves every kind of login
        #[arg(long, default_value_t = 5)]
        rounds: usize,
        /// Measure this kind of login alone, such as "clean, GitHub"
        #[arg(long)]
        only: Option<String>,
        /// Measure with this number of clients alone
        #[arg(long)]
        clients: Option<usize>,
        /// Measure without PostgreSQL
        #[arg(long)]
        no_postgres: bool,
    },
    /// Serve floor-hops
    #[command(hide = true)]
    FloorHops { providers: SocketAddr },
    /// Serve the providers
    #[command(hide = true)]
    Providers { delay_ms: u64 },
}

impl Cli {
    /// Runs the command.
    pub(crate) fn run(self) -> Result<(), BenchError> {
        match self.command {
            Command::FloorHops { providers } => {
                let runtime = Builder::new_multi_thread().enable_all().build()?;
                runtime.block_on(floor_hops::serve(providers))
            }
            Command::Providers { delay_ms } => {
                let delay = Duration::from_millis(delay_ms);
                load_runtime()?.block_on(providers::serve(delay))
            }
            Command::Logins {
                broker,
                against,
                rounds,
                only,
                clients,
                no_postgres,
            } => {
                let cores = Cores::available()?;
                cores.stay_on_load()?;
                let compared = Compared {
                    broker,
                    against,
                    rounds,
                    only,
                    clients,
                    with_postgres: !no_postgres,
                };
                load_runtime()?.block_on(logins::compare(&compared, cores))
            }
        }
    }
}

/// The runtime of everything on the core of the load.
fn load_runtime() -> std::io::Result<Runtime> {
    Builder::new_current_thread().enable_all().build()
}
