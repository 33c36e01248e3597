//! The needs of every measurement: the programs, the cores, the providers, and how much is
//! measured.

use std::io::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::BenchError;
use crate::cli::RunArgs;
use crate::load::login::Login;
use crate::report::{Subject, Version};
use crate::repository::build_broker_of;
use crate::servers::broker::{BrokerConfig, Database, Store};
use crate::servers::{Cores, Measured, Server, free_address, providers};

/// One run of the program.
#[derive(Debug)]
pub(crate) struct Setup {
    pub(crate) cores: Cores,
    pub(crate) size: Size,
    /// The only kind of login to measure, if one is named.
    pub(crate) login: Option<Login>,
    /// The only number of clients to measure with, if one is named.
    pub(crate) clients: Option<usize>,
    /// Whether PostgreSQL is measured, too.
    pub(crate) with_postgres: bool,
    pub(crate) providers: SocketAddr,
    /// The folder of all files, which are removed at the end.
    pub(crate) folder: TempDir,
    broker: PathBuf,
    /// An earlier broker.
    before: Option<PathBuf>,
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

impl Setup {
    /// Finds the programs, builds the earlier broker, keeps this thread on the load's core,
    /// and starts the providers there.
    pub(crate) async fn new(args: &RunArgs, size: Size) -> Result<Self, BenchError> {
        let (beside, named) = (sibling("broker")?, args.broker.clone());
        let broker = named.unwrap_or(beside);
        check_exists(&broker)?;
        let cores = Cores::available()?;
        let before = args.against.as_deref().map(build_broker_of).transpose()?;
        cores.stay_on_load()?;
        // Thousands of users arrive at once in an overload.
        rlimit::increase_nofile_limit(u64::MAX)?;
        Ok(Self {
            cores,
            size,
            login: args.login,
            clients: args.clients.map(usize::from),
            with_postgres: !args.no_postgres,
            providers: providers::start().await?,
            folder: tempfile::Builder::new().prefix("bench-").tempdir()?,
            broker,
            before,
        })
    }

    /// Writes what is measured now to standard error.
    #[expect(clippy::unused_self, reason = "a run has one progress")]
    pub(crate) fn announce(&self, what: &str) {
        let _ = writeln!(std::io::stderr(), "bench: {what}");
    }

    /// The brokers that are compared, the earlier one first.
    pub(crate) fn versions(&self) -> impl Iterator<Item = (Version, &Path)> {
        let before = self.before.as_deref().map(|it| (Version::Before, it));
        let present = (Version::Present, self.broker.as_path());
        before.into_iter().chain([present])
    }

    /// The configuration of a broker with a store of its own.
    pub(crate) fn configure(&self, store: &Store) -> Result<BrokerConfig, BenchError> {
        BrokerConfig::new(store, self.providers, self.folder.path())
    }

    /// Starts the broker of this tree on the server's core.
    pub(crate) fn start_broker(&self, config: &BrokerConfig) -> Result<Server, BenchError> {
        self.start(config.command(&self.broker), config.address, "/livez")
    }

    /// Starts a broker that is compared.
    pub(crate) fn start_measured<'a>(
        &self,
        subject: Subject,
        program: &Path,
        store: &Store,
        database: Option<&'a Database>,
    ) -> Result<Measured<'a>, BenchError> {
        let config = self.configure(store)?;
        Ok(Measured {
            server: self.start(config.command(program), config.address, "/livez")?,
            subject,
            database,
        })
    }

    /// Starts `floor-hops`.
    pub(crate) fn start_floor(&self) -> Result<Measured<'static>, BenchError> {
        let address = free_address()?;
        let mut command = itself()?;
        command.args(["floor-hops", &address.port().to_string()]);
        command.arg(self.providers.to_string());
        Ok(Measured {
            subject: Subject::new(FLOOR, Version::Present),
            server: self.start(command, address, "/v1/profile")?,
            database: None,
        })
    }

    /// Starts a server on the server's core.
    pub(crate) fn start(
        &self,
        command: Command,
        address: SocketAddr,
        path: &str,
    ) -> Result<Server, BenchError> {
        let start = || Server::start(command, address, path);
        let (server, _) = self.cores.start_on(self.cores.server, start)??;
        Ok(server)
    }
}

/// The name of `floor-hops` in a table.
pub(crate) const FLOOR: &str = "floor-hops";

/// A command that runs this program.
pub(crate) fn itself() -> Result<Command, BenchError> {
    Ok(Command::new(std::env::current_exe()?))
}

/// The program of this name beside this one.
pub(crate) fn sibling(name: &str) -> Result<PathBuf, BenchError> {
    Ok(std::env::current_exe()?.with_file_name(name))
}

/// Fails unless there is such a program.
pub(crate) fn check_exists(path: &Path) -> Result<(), BenchError> {
    match path.is_file() {
        true => Ok(()),
        false => Err(BenchError::because(format!(
            "there is no program {}: run `just bench`, which builds it, or name another broker \
             with --broker",
            path.display()
        ))),
    }
}
