//! The needs of every measurement: the programs, the cores, the providers, and how much is
//! measured.

use std::io::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;
use tempfile::TempDir;

use crate::BenchError;
use crate::cli::RunArgs;
use crate::report::Version;
use crate::repository::build_broker_of;
use crate::servers::broker::{BrokerConfig, Database, Store};
use crate::servers::{Cores, Measured, Server, Start, free_address, providers};

/// One run of the program.
#[derive(Debug)]
pub(crate) struct Setup {
    pub(crate) args: RunArgs,
    pub(crate) size: Size,
    pub(crate) cores: Cores,
    pub(crate) providers: SocketAddr,
    /// The folder of all files, which are removed at the end.
    pub(crate) folder: TempDir,
    pub(crate) broker: PathBuf,
    /// An earlier broker.
    before: Option<PathBuf>,
}

/// The amounts of one run.
#[derive(Debug, Clone, Copy, Deserialize)]
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
    /// The size `quick`, `usual` (20 minutes) or `full`.
    pub(crate) fn named(name: &str) -> Self {
        const VALID: &str = "the committed file has all sizes";
        let mut sizes: Value = serde_json::from_str(include_str!("sizes.json")).expect(VALID);
        serde_json::from_value(sizes[name].take()).expect(VALID)
    }
}

impl Setup {
    /// Finds the programs, builds the earlier broker, keeps this thread on the load's core,
    /// and starts the providers there.
    pub(crate) async fn new(args: RunArgs) -> Result<Self, BenchError> {
        let broker = args.broker.clone().map_or_else(|| sibling("broker"), Ok)?;
        check_exists(&broker)?;
        let cores = Cores::available()?;
        let before = args.against.as_deref().map(build_broker_of).transpose()?;
        cores.stay_on_load()?;
        // Thousands of users arrive at once in an overload.
        rlimit::increase_nofile_limit(u64::MAX)?;
        Ok(Self {
            size: args.size(),
            args,
            cores,
            providers: providers::start().await?,
            folder: tempfile::Builder::new().prefix("bench-").tempdir()?,
            broker,
            before,
        })
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
        Ok(self.start(config.start(&self.broker))?.0)
    }

    /// Starts a broker that is compared.
    pub(crate) fn start_measured<'a>(
        &self,
        name: &str,
        (version, program): (Version, &Path),
        store: &Store,
        database: Option<&'a Database>,
    ) -> Result<Measured<'a>, BenchError> {
        let start = self.configure(store)?.start(program);
        Ok(Measured {
            server: self.start(start)?.0,
            subject: (name.to_owned(), version),
            database,
        })
    }

    /// `floor-hops`.
    pub(crate) fn floor(&self) -> Result<Start, BenchError> {
        let address = free_address()?;
        let mut command = itself()?;
        command.args(["floor", &address.port().to_string()]);
        command.arg(self.providers.to_string());
        Ok((command, address, "/v1/profile".to_owned()))
    }

    pub(crate) fn start_floor(&self) -> Result<Measured<'static>, BenchError> {
        Ok(Measured::present(FLOOR, self.start(self.floor()?)?.0))
    }

    /// Starts a server on the server's core, which takes that long.
    pub(crate) fn start(&self, start: Start) -> Result<(Server, Duration), BenchError> {
        let cores = self.cores;
        cores.start_on(cores.server, || Server::start(start))?
    }
}

/// Writes what is measured now to standard error.
pub(crate) fn announce(what: &str) {
    let _ = writeln!(std::io::stderr(), "bench: {what}");
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
