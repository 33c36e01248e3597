//! Brokers on one database, and the imitated providers that they sign users in with.

pub(crate) mod replica;

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use agent::random::digest;
use broker::clock::Clock;
use broker::model::UnixMs;
use clap::ValueEnum;
use mock_upstream::{MockUpstream, Settings};
use tempfile::TempDir;
use testkit::postgres::pair::Pair;
use testkit::postgres::patroni::Patroni;
use testkit::postgres::{Durability, Server};

use crate::RunError;
use crate::client::{
    BASE_URL, CALLBACK, CLIENT_ID, CLIENT_SECRET, OTHER_ID, OTHER_SECRET, SECOND_CALLBACK,
};
use replica::Replica;

/// The store that the brokers share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, strum::Display)]
pub(crate) enum Engine {
    #[strum(to_string = "SQLite")]
    Sqlite,
    #[strum(to_string = "PostgreSQL")]
    Postgres,
}

impl Engine {
    /// The number of brokers on one database: as many as were asked for, or its default.
    pub(crate) fn brokers(self, asked_for: Option<NonZeroUsize>) -> usize {
        let default = match self {
            Self::Sqlite => 1,
            Self::Postgres => 2,
        };
        asked_for.map_or(default, NonZeroUsize::get)
    }
}

/// The processes and their files. Dropped, they are gone.
pub(crate) struct Cluster {
    pub(crate) brokers: Vec<Replica>,
    pub(crate) upstream: Arc<MockUpstream>,
    pub(crate) database: Database,
    /// The clock of the brokers and the providers.
    pub(crate) clock: Clock,
    still_at: Option<UnixMs>,
    logging: Logging,
    scratch: TempDir,
}

/// The database that the brokers share.
pub(crate) enum Database {
    /// A SQLite file.
    File,
    /// A PostgreSQL server.
    Server(Server),
    /// A primary and its standby.
    Pair(Pair),
    /// A primary and two standbys, under Patroni.
    Patroni(Patroni),
}

impl Database {
    /// An empty one of this engine.
    pub(crate) fn start(engine: Engine, durability: Durability) -> Result<Self, RunError> {
        Ok(match engine {
            Engine::Sqlite => Self::File,
            Engine::Postgres => Self::Server(Server::start(durability)?),
        })
    }
}

/// The time at which a clock stands still: some day in November 2026.
pub(crate) const STILL_AT: UnixMs = UnixMs(1_794_000_000_000);

/// Whether brokers write a log.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Logging {
    /// They do not.
    Off,
    /// They do, and have short time limits for providers and for open requests when
    /// they stop.
    On,
}

impl Cluster {
    /// Starts `count` brokers on an empty database.
    pub(crate) async fn start(
        engine: Engine,
        count: usize,
        logging: Logging,
    ) -> Result<Self, RunError> {
        let database = Database::start(engine, Durability::Durable)?;
        Self::start_on(database, count, logging, None).await
    }

    /// Starts `count` brokers on this database, with a clock that stands still at a time or
    /// is the system's.
    pub(crate) async fn start_on(
        database: Database,
        count: usize,
        logging: Logging,
        still_at: Option<UnixMs>,
    ) -> Result<Self, RunError> {
        let scratch = tempfile::Builder::new().prefix("consistency-").tempdir()?;
        let clock = still_at.map_or_else(Clock::system, Clock::fixed_at);
        let upstream = Arc::new(start_upstream(clock.clone()).await?);
        let mut cluster = Self {
            brokers: Vec::new(),
            upstream,
            database,
            clock,
            still_at,
            logging,
            scratch,
        };
        std::fs::write(cluster.config_path(), cluster.config())?;
        for _ in 0..count {
            let broker = cluster.replica().await?;
            cluster.brokers.push(broker);
        }
        Ok(cluster)
    }

    /// The URLs of all brokers.
    pub(crate) fn urls(&self) -> Vec<String> {
        let urls = self.brokers.iter().map(|broker| broker.url.clone());
        urls.collect()
    }

    /// Starts a broker anew.
    pub(crate) async fn restart(&mut self, broker: usize) -> Result<(), RunError> {
        self.brokers[broker].process.stop();
        self.brokers[broker] = self.replica().await?;
        Ok(())
    }

    /// Moves the clocks of all ahead. Meanwhile not all of them show the same time.
    pub(crate) async fn advance(&mut self, by: Duration) -> Result<(), RunError> {
        for broker in &mut self.brokers {
            broker.advance(by).await?;
        }
        self.clock.advance(by);
        Ok(())
    }

    /// The folder of the configuration, and of the database if it is a file.
    pub(crate) fn folder(&self) -> &Path {
        self.scratch.path()
    }

    async fn replica(&self) -> Result<Replica, RunError> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("replica").arg("--config");
        command.arg(self.config_path());
        let ahead_ms = self.clock.advanced_ms().to_string();
        command.args(["--ahead-ms", &ahead_ms]);
        // Its configuration is the file, and what is given here.
        command.env_clear();
        if let Some(still_at) = self.still_at {
            command.args(["--still-at-ms", &still_at.0.to_string()]);
            // A model knows of no limit.
            command.env("BROKER_LIMITS__WRONG_SECRETS_PER_MINUTE", "4294967295");
        }
        let mut log = None;
        if let Logging::On = self.logging {
            let (reader, writer) = std::io::pipe()?;
            log = Some(reader);
            command.arg("--log").stderr(writer);
            command.env("BROKER_UPSTREAM__TIMEOUT_MS", "2000");
            command.env("BROKER_SHUTDOWN_SECONDS", "1");
        }
        Replica::start(command, log).await
    }

    fn config_path(&self) -> PathBuf {
        self.scratch.path().join("broker.toml")
    }

    /// The address of the database.
    pub(crate) fn database_url(&self) -> String {
        match &self.database {
            Database::Server(server) => server.url("postgres"),
            Database::Pair(pair) => pair.url(),
            Database::Patroni(patroni) => patroni.url(),
            Database::File => format!("sqlite:{}", self.file().display()),
        }
    }

    /// The file of the database, if it is one.
    pub(crate) fn database_file(&self) -> Option<PathBuf> {
        matches!(self.database, Database::File).then(|| self.file())
    }

    fn file(&self) -> PathBuf {
        self.scratch.path().join("broker.db")
    }

    fn config(&self) -> String {
        let callbacks = format!("{CALLBACK:?}, {SECOND_CALLBACK:?}");
        include_str!("cluster/broker.toml")
            .replace("<BASE_URL>", BASE_URL)
            .replace("<COOKIE_KEY>", &digest("the cluster's cookie key"))
            .replace("<STORE>", &self.database_url())
            .replace("<GOOGLE>", self.upstream.google().url())
            .replace("<GITHUB>", self.upstream.github().url())
            .replace("<CALLBACKS>", &callbacks)
            .replace("<CLIENT_ID>", CLIENT_ID)
            .replace("<SECRET>", &digest(CLIENT_SECRET))
            .replace("<OTHER_ID>", OTHER_ID)
            .replace("<OTHER_SECRET>", &digest(OTHER_SECRET))
    }
}

async fn start_upstream(clock: Clock) -> Result<MockUpstream, RunError> {
    let client = |provider: &str| {
        let callback = format!("{BASE_URL}/callback/{provider}");
        mock_upstream::Client::new("cluster", "cluster", [callback])
    };
    let settings = Settings {
        clock: mock_upstream::Clock::new(move || clock.now().0),
        ..Settings::new(client("google")?, client("github")?)
    };
    Ok(MockUpstream::start(settings).await?)
}
