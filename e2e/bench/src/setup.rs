//! The needs of every measurement: the programs, the cores, and how much is measured.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;

use crate::BenchError;
use crate::load::login::Login;
use crate::progress::Progress;
use crate::repository::build_broker_of;
use crate::servers::broker::{BrokerConfig, Store};
use crate::servers::{Cores, ServerProcess};

/// One run of the program.
#[derive(Debug)]
pub(crate) struct Setup {
    pub(crate) programs: Programs,
    pub(crate) cores: Cores,
    pub(crate) size: Size,
    pub(crate) progress: Progress,
    /// The only kind of login to measure, if one is named.
    pub(crate) login: Option<Login>,
    /// The only number of clients to measure with, if one is named.
    pub(crate) clients: Option<usize>,
    /// Whether PostgreSQL is measured, too.
    pub(crate) with_postgres: bool,
}

/// The amounts of one run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Size {
    /// The rounds; in each, every server gets every load.
    pub(crate) rounds: usize,
    /// The logins of a load that takes a second in a release build.
    pub(crate) logins: usize,
    /// The logins after which memory is compared.
    pub(crate) consumed: usize,
    /// The starts of each program.
    pub(crate) starts: usize,
    /// The live sessions beside which logins are compared.
    pub(crate) sessions: usize,
    /// The hours that a broker lives through, and the logins in each.
    pub(crate) hours: usize,
    pub(crate) logins_an_hour: usize,
    /// The seconds of each load up to the greatest.
    pub(crate) overload_seconds: u32,
}

impl Size {
    /// Tries every measurement.
    pub(crate) const QUICK: Self = Self {
        rounds: 1,
        logins: 64,
        consumed: 640,
        starts: 2,
        sessions: 2_000,
        hours: 24,
        logins_an_hour: 16,
        overload_seconds: 1,
    };

    /// A quarter of an hour.
    pub(crate) const USUAL: Self = Self {
        rounds: 5,
        logins: 1_600,
        consumed: 20_000,
        starts: 20,
        sessions: 100_000,
        hours: 30 * 24,
        logins_an_hour: 128,
        overload_seconds: 4,
    };

    /// The published size of what grows.
    pub(crate) const FULL: Self = Self {
        sessions: 1_000_000,
        logins_an_hour: 1_000,
        ..Self::USUAL
    };
}

/// The programs as the command line names them.
#[derive(Debug, Args)]
pub(crate) struct ProgramArgs {
    /// The broker to measure [default: the one beside this program]
    #[arg(long, value_name = "PROGRAM")]
    broker: Option<PathBuf>,
    /// The stack to measure [default: the one beside this program]
    #[arg(long, value_name = "PROGRAM")]
    stack: Option<PathBuf>,
    /// Also measure the broker of this commit, in the same rounds; it is built in
    /// target/bench when it is first needed
    #[arg(long, value_name = "COMMIT")]
    against: Option<String>,
}

/// Existing programs.
#[derive(Debug)]
pub(crate) struct Programs {
    pub(crate) broker: PathBuf,
    pub(crate) stack: PathBuf,
    /// An earlier broker.
    pub(crate) before: Option<PathBuf>,
    /// This program.
    pub(crate) bench: PathBuf,
}

impl ProgramArgs {
    /// Finds the programs, and builds the earlier broker.
    pub(crate) fn find(self, with_stack: bool) -> Result<Programs, BenchError> {
        let bench = std::env::current_exe()?;
        let broker = self
            .broker
            .unwrap_or_else(|| bench.with_file_name("broker"));
        let stack = self.stack.unwrap_or_else(|| bench.with_file_name("stack"));
        check_exists(&broker, "--broker")?;
        if with_stack {
            check_exists(&stack, "--stack")?;
        }
        let before = self.against.map(|commit| build_broker_of(&commit));
        Ok(Programs {
            broker,
            stack,
            before: before.transpose()?,
            bench,
        })
    }
}

fn check_exists(path: &Path, flag: &str) -> Result<(), BenchError> {
    match path.is_file() {
        true => Ok(()),
        false => Err(BenchError::Failed(format!(
            "there is no program {}: run `just bench`, which builds it, or name another with \
             {flag}",
            path.display()
        ))),
    }
}

/// One of the two brokers that are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Version {
    /// That of an earlier commit.
    Before,
    /// That of this tree.
    Present,
}

impl Setup {
    /// The brokers that are compared, the earlier one first.
    pub(crate) fn versions(&self) -> impl Iterator<Item = (Version, &Path)> {
        let before = self.programs.before.as_deref();
        let before = before.map(|program| (Version::Before, program));
        let present = (Version::Present, self.programs.broker.as_path());
        before.into_iter().chain([present])
    }

    /// Starts `floor-hops`.
    pub(crate) fn start_floor(&self, providers: SocketAddr) -> Result<ServerProcess, BenchError> {
        let mut command = self.itself();
        command.args(["floor-hops", &providers.to_string()]);
        self.start_printing(command)
    }

    /// Starts a server that prints its address on the server's core.
    pub(crate) fn start_printing(&self, command: Command) -> Result<ServerProcess, BenchError> {
        let start = || ServerProcess::printing_its_address(command);
        self.cores.start_on(self.cores.server, start)?
    }

    /// Starts a broker on the server's core.
    pub(crate) fn start_broker(
        &self,
        program: &Path,
        store: &Store,
        providers: SocketAddr,
    ) -> Result<ServerProcess, BenchError> {
        BrokerConfig::new(store, providers)?.start(program, self.cores)
    }

    /// A command that runs this program.
    pub(crate) fn itself(&self) -> Command {
        Command::new(&self.programs.bench)
    }
}
