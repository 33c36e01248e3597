//! The command line.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand, ValueEnum as _};
use consistency::ReplicaArgs;
use tokio::runtime::{Builder, Runtime};

use crate::BenchError;
use crate::load::login::Login;
use crate::measurements::Measurement;
use crate::report::Table;
use crate::repository::{check_publishable, publish};
use crate::servers::floors;
use crate::setup::{Setup, Size};

/// Measure the cost of the broker: each figure beside a floor, in the same rounds.
///
/// The table is written to standard output, the progress to standard error.
#[derive(Debug, Parser)]
#[command(version, args_conflicts_with_subcommands = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    run: RunArgs,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// Measure these alone, in this order
    #[arg(value_name = "NAME")]
    names: Vec<Measurement>,
    /// Try it at small sizes: the figures mean nothing
    #[arg(long, conflicts_with = "full")]
    quick: bool,
    /// Measure growth at its full size: a million sessions, a month of a thousand logins an
    /// hour; within an hour
    #[arg(long)]
    full: bool,
    /// The broker to measure [default: the one beside this program]
    #[arg(long, value_name = "PROGRAM")]
    pub(crate) broker: Option<PathBuf>,
    /// Also measure the broker of this commit, in the same rounds; it is built in
    /// target/bench when it is first needed
    #[arg(long, value_name = "COMMIT")]
    pub(crate) against: Option<String>,
    /// The rounds; in each, every server gets every load
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    rounds: Option<u16>,
    /// Of `logins`, measure this kind alone, such as "clean, GitHub"
    #[arg(long, value_name = "KIND")]
    pub(crate) login: Option<Login>,
    /// Of `logins`, measure with this number of clients alone
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) clients: Option<u16>,
    /// Measure without PostgreSQL
    #[arg(long)]
    pub(crate) no_postgres: bool,
    /// Of `peers`, the folder of what npm installed
    #[arg(long, value_name = "FOLDER", default_value = "target/peers")]
    pub(crate) peers: PathBuf,
    /// Write the table into broker/PERFORMANCE.md: of a whole run, on a tree without changes
    #[arg(long, conflicts_with_all = [
        "names", "quick", "broker", "against", "rounds", "login", "clients", "no_postgres",
    ])]
    publish: bool,
}

/// The servers that a measurement starts.
#[derive(Debug, Subcommand)]
enum Command {
    /// Serve floor-hops, or one page if there are no providers
    #[command(hide = true)]
    Floor {
        port: u16,
        providers: Option<String>,
    },
    /// A broker whose clock is moved
    #[command(hide = true)]
    Replica(ReplicaArgs),
    /// The broker, for tests
    #[command(hide = true, disable_help_flag = true)]
    Broker {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
}

impl Cli {
    /// Runs the command.
    pub(crate) fn run(self) -> Result<ExitCode, BenchError> {
        match self.command {
            // As in production.
            Some(command) => Runtime::new()?.block_on(command.serve()),
            None => self.run.measure().map(|()| ExitCode::SUCCESS),
        }
    }
}

impl Command {
    async fn serve(self) -> Result<ExitCode, BenchError> {
        match self {
            Self::Floor { port, providers } => floors::serve(port, providers).await?,
            Self::Replica(args) => {
                let served = consistency::serve_replica(args).await;
                served.map_err(|error| BenchError::because(error.to_string()))?;
            }
            Self::Broker { arguments } => {
                let arguments = ["broker".to_owned()].into_iter().chain(arguments);
                return Ok(broker::cli::Cli::parse_from(arguments).run().await);
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl RunArgs {
    fn measure(mut self) -> Result<(), BenchError> {
        if self.publish {
            check_publishable()?;
        }
        let mut measurements = std::mem::take(&mut self.names);
        if measurements.is_empty() {
            let all = Measurement::value_variants().iter().copied();
            measurements.extend(all.filter(|it| *it != Measurement::Peers));
        }
        // Of everything on the core of the load.
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let publishes = self.publish;
        let rows = runtime.block_on(async {
            let setup = Setup::new(self).await?;
            let mut rows = Vec::new();
            for measurement in measurements {
                rows.extend(measurement.run(&setup).await?);
            }
            Ok::<_, BenchError>(rows)
        })?;
        if !rows.is_empty() {
            write!(std::io::stdout(), "{}", Table(&rows))?;
        }
        match publishes {
            true => publish(&rows),
            false => Ok(()),
        }
    }

    /// The amounts of this run.
    pub(crate) fn size(&self) -> Size {
        let name = match (self.quick, self.full) {
            (true, _) => "quick",
            (_, true) => "full",
            _ => "usual",
        };
        let size = Size::named(name);
        let rounds = self.rounds.map_or(size.rounds, usize::from);
        Size { rounds, ..size }
    }
}
