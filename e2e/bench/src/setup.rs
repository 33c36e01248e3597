//! What every measurement needs.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use testkit::postgres::{Durability, Server};

use crate::cores::{CoreChoice, Cores};
use crate::error::BenchError;
use crate::load::login::Login;
use crate::programs::Programs;
use crate::progress::Progress;
use crate::servers::broker::{BrokerConfig, Store};
use crate::servers::process::ServerProcess;
use crate::size::Size;

/// The programs, the cores, and how much is measured.
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

/// One of the two brokers that are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Version {
    /// That of an earlier commit.
    Before,
    /// That of this tree.
    Present,
}

/// A running broker and its files, which are removed with it.
#[derive(Debug)]
pub(crate) struct RunningBroker {
    pub(crate) server: ServerProcess,
    _config: BrokerConfig,
}

impl Setup {
    /// The brokers that are compared, the earlier one first.
    pub(crate) fn versions(&self) -> impl Iterator<Item = (Version, &Path)> {
        let before = self.programs.before.as_deref();
        let before = before.map(|program| (Version::Before, program));
        before
            .into_iter()
            .chain([(Version::Present, self.programs.broker.as_path())])
    }

    /// Starts `floor-hops`.
    pub(crate) fn start_floor(&self, providers: SocketAddr) -> Result<ServerProcess, BenchError> {
        let mut command = self.itself();
        command.args(["floor-hops", &providers.to_string()]);
        self.start_printing(CoreChoice::Server, command)
    }

    /// Starts a broker on the server's core.
    pub(crate) fn start_broker(
        &self,
        program: &Path,
        store: &Store,
        providers: SocketAddr,
    ) -> Result<RunningBroker, BenchError> {
        self.start_broker_at(CoreChoice::Server, program, store, providers)
    }

    pub(crate) fn start_broker_at(
        &self,
        place: CoreChoice,
        program: &Path,
        store: &Store,
        providers: SocketAddr,
    ) -> Result<RunningBroker, BenchError> {
        let config = BrokerConfig::new(store, providers)?;
        Ok(RunningBroker {
            server: config.start(place, program, self.cores)?,
            _config: config,
        })
    }

    /// Starts a durable PostgreSQL.
    pub(crate) fn start_postgres(
        &self,
        place: CoreChoice,
        settings: &[&str],
    ) -> Result<Server, BenchError> {
        let start = || Server::start_with(Durability::Durable, settings);
        self.cores.at(place, start)?.map_err(BenchError::NoPostgres)
    }

    /// A command that runs this program.
    pub(crate) fn itself(&self) -> Command {
        Command::new(&self.programs.bench)
    }

    fn start_printing(
        &self,
        place: CoreChoice,
        command: Command,
    ) -> Result<ServerProcess, BenchError> {
        self.cores
            .at(place, || ServerProcess::that_prints_its_address(command))?
    }
}
