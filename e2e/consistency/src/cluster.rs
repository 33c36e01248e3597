//! Brokers on one database, and the imitated providers that they sign users in with.

pub(crate) mod replica;

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use agent::random::digest;
use broker::clock::Clock;
use clap::ValueEnum;
use mock_upstream::{MockUpstream, Settings};
use tempfile::TempDir;
use testkit::postgres::pair::{Pair, Replication};
use testkit::postgres::{Durability, Server};

use crate::RunError;
use crate::client::{BASE_URL, CALLBACK, CLIENT_ID, CLIENT_SECRET};
use replica::{PauseAt, Replica};

/// The store that the brokers share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Engine {
    Sqlite,
    Postgres,
}

impl Engine {
    /// The name in a report.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Sqlite => "SQLite",
            Self::Postgres => "PostgreSQL",
        }
    }

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
}

impl Database {
    /// An empty one of this engine.
    fn start(engine: Engine) -> Result<Self, RunError> {
        Ok(match engine {
            Engine::Sqlite => Self::File,
            Engine::Postgres => Self::Server(Server::start(Durability::Durable)?),
        })
    }

    /// An empty primary with its standby.
    pub(crate) fn start_pair(replication: Replication) -> Result<Self, RunError> {
        Ok(Self::Pair(Pair::start(replication)?))
    }
}

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
        Self::start_on(Database::start(engine)?, count, logging).await
    }

    /// Starts `count` brokers on this database.
    pub(crate) async fn start_on(
        database: Database,
        count: usize,
        logging: Logging,
    ) -> Result<Self, RunError> {
        let scratch = tempfile::Builder::new().prefix("consistency-").tempdir()?;
        let clock = Clock::system();
        let upstream = Arc::new(start_upstream(clock.clone()).await?);
        let mut cluster = Self {
            brokers: Vec::new(),
            upstream,
            database,
            clock,
            logging,
            scratch,
        };
        std::fs::write(cluster.config_path(), cluster.config())?;
        for _ in 0..count {
            let broker = cluster.replica(None).await?;
            cluster.brokers.push(broker);
        }
        Ok(cluster)
    }

    /// The URLs of all brokers.
    pub(crate) fn urls(&self) -> Vec<String> {
        let urls = self.brokers.iter().map(|broker| broker.url.clone());
        urls.collect()
    }

    /// Starts a broker anew, to pause at a fail point.
    pub(crate) async fn restart(
        &mut self,
        broker: usize,
        pause_at: Option<PauseAt>,
    ) -> Result<(), RunError> {
        self.brokers[broker].process.stop();
        self.brokers[broker] = self.replica(pause_at).await?;
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

    async fn replica(&self, pause_at: Option<PauseAt>) -> Result<Replica, RunError> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("replica").arg("--config");
        command.arg(self.config_path());
        let ahead_ms = self.clock.advanced_ms().to_string();
        command.args(["--ahead-ms", &ahead_ms]);
        if let Some(pause_at) = pause_at {
            command.arg("--pause-at").arg(pause_at.to_string());
        }
        // Its configuration is the file, and what is given here.
        command.env_clear();
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

    fn config(&self) -> String {
        let store = match &self.database {
            Database::Server(server) => server.url("postgres"),
            Database::Pair(pair) => pair.url(),
            Database::File => format!("sqlite:{}", self.scratch.path().join("broker.db").display()),
        };
        let (google, github) = (self.upstream.google().url(), self.upstream.github().url());
        let cookie_key = digest("the cluster's cookie key");
        let secret_digest = digest(CLIENT_SECRET);
        format!(
            r#"
            base_url = "{BASE_URL}"
            bind = "127.0.0.1:0"
            cookie_keys = ["{cookie_key}"]
            [store]
            url = "{store}"
            [upstream.google]
            client_id = "cluster"
            client_secret = "cluster"
            issuer = "{google}"
            [upstream.github]
            client_id = "cluster"
            client_secret = "cluster"
            web_url = "{github}"
            api_url = "{github}"
            [limits]
            overload_delay_ms = 60000
            [[project]]
            name = "Consumer"
            client_id = "{CLIENT_ID}"
            client_secret_sha256 = "{secret_digest}"
            redirect_uris = ["{CALLBACK}"]
            "#
        )
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
