//! Brokers on one database, and the imitated providers that they sign in with.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use broker::clock::Clock;
use clap::ValueEnum;
use mock_upstream::{MockUpstream, Settings};
use tempfile::TempDir;
use testkit::postgres::{Durability, Server};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};

use crate::Failure;
use crate::chance::digest;
use crate::client::{BASE_URL, CALLBACK, CLIENT_ID, CLIENT_SECRET};
use crate::replica::{Halt, MOVED, Order};

/// Which store the brokers share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Engine {
    Sqlite,
    Postgres,
}

impl Engine {
    /// What it is called in a report.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Sqlite => "SQLite",
            Self::Postgres => "PostgreSQL",
        }
    }

    /// How many brokers one database of it usually has.
    pub(crate) fn usual_brokers(self) -> usize {
        match self {
            Self::Sqlite => 1,
            Self::Postgres => 2,
        }
    }
}

/// All of it. Dropped, it is gone.
pub(crate) struct Fleet {
    pub(crate) brokers: Vec<Replica>,
    pub(crate) upstream: Arc<MockUpstream>,
    pub(crate) database: Option<Server>,
    /// What everybody goes by.
    pub(crate) clock: Clock,
    manner: Manner,
    scratch: TempDir,
}

/// How brokers are started.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) enum Manner {
    /// As the configuration file says, without a log.
    #[default]
    Silent,
    /// With a log, and little patience with providers and with whoever is on the
    /// way when it stops.
    Talking,
}

/// One running broker.
pub(crate) struct Replica {
    /// Its URL, without a trailing slash.
    pub(crate) url: String,
    process: Child,
    said: Lines<BufReader<ChildStdout>>,
    /// What it logs, if it does, for whoever takes it.
    pub(crate) log: Option<ChildStderr>,
    /// Takes its orders; closed, it ends.
    orders: ChildStdin,
}

impl Fleet {
    /// Starts `count` brokers on an empty database.
    pub(crate) async fn start(
        engine: Engine,
        count: usize,
        manner: Manner,
    ) -> Result<Self, Failure> {
        let scratch = tempfile::Builder::new().prefix("consistency-").tempdir()?;
        let clock = Clock::system();
        let upstream = Arc::new(start_upstream(clock.clone()).await?);
        let database = match engine {
            Engine::Sqlite => None,
            Engine::Postgres => Some(Server::start(Durability::Durable)?),
        };
        let mut fleet = Self {
            brokers: Vec::new(),
            upstream,
            database,
            clock,
            manner,
            scratch,
        };
        std::fs::write(fleet.config_path(), fleet.config())?;
        for _ in 0..count {
            let broker = fleet.replica(None).await?;
            fleet.brokers.push(broker);
        }
        Ok(fleet)
    }

    /// The URLs of all brokers.
    pub(crate) fn urls(&self) -> Vec<String> {
        let urls = self.brokers.iter().map(|broker| broker.url.clone());
        urls.collect()
    }

    /// Starts the first broker anew, to halt where it is told to.
    pub(crate) async fn start_first_again(&mut self, halt: Option<Halt>) -> Result<(), Failure> {
        self.brokers[0].kill().await?;
        self.brokers[0] = self.replica(halt).await?;
        Ok(())
    }

    /// Moves everybody's clock ahead. Meanwhile not all of them show the same time.
    pub(crate) async fn advance(&mut self, by: Duration) -> Result<(), Failure> {
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

    async fn replica(&self, halt: Option<Halt>) -> Result<Replica, Failure> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("replica").arg("--config");
        command.arg(self.config_path());
        let ahead_ms = self.clock.advanced_ms().to_string();
        command.args(["--ahead-ms", &ahead_ms]);
        if let Some(halt) = halt {
            command.arg("--halt").arg(halt.to_string());
        }
        // Its configuration is the file, and what is given here.
        command.env_clear();
        if let Manner::Talking = self.manner {
            command.arg("--log").stderr(Stdio::piped());
            command.env("BROKER_UPSTREAM__TIMEOUT_MS", "2000");
            command.env("BROKER_SHUTDOWN_SECONDS", "1");
        }
        Replica::start(command).await
    }

    fn config_path(&self) -> PathBuf {
        self.scratch.path().join("broker.toml")
    }

    fn config(&self) -> String {
        let store = match &self.database {
            Some(server) => server.url("postgres"),
            None => format!("sqlite:{}", self.scratch.path().join("broker.db").display()),
        };
        let (google, github) = (self.upstream.google().url(), self.upstream.github().url());
        let cookie_key = digest("the fleet's cookie key");
        let secret_digest = digest(CLIENT_SECRET);
        format!(
            r#"
            base_url = "{BASE_URL}"
            bind = "127.0.0.1:0"
            cookie_keys = ["{cookie_key}"]
            [store]
            url = "{store}"
            [upstream.google]
            client_id = "fleet"
            client_secret = "fleet"
            issuer = "{google}"
            [upstream.github]
            client_id = "fleet"
            client_secret = "fleet"
            web_url = "{github}"
            api_url = "{github}"
            [[project]]
            name = "Prover"
            client_id = "{CLIENT_ID}"
            client_secret_sha256 = "{secret_digest}"
            redirect_uris = ["{CALLBACK}"]
            "#
        )
    }
}

async fn start_upstream(clock: Clock) -> Result<MockUpstream, Failure> {
    let client = |provider: &str| {
        let callback = format!("{BASE_URL}/callback/{provider}");
        mock_upstream::Client::new("fleet", "fleet", [callback])
    };
    let settings = Settings {
        clock: mock_upstream::Clock::new(move || clock.now().0),
        ..Settings::new(client("google")?, client("github")?)
    };
    Ok(MockUpstream::start(settings).await?)
}

impl Replica {
    async fn start(mut command: Command) -> Result<Self, Failure> {
        let mut process = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let orders = process.stdin.take().ok_or("standard input is piped")?;
        let output = process.stdout.take().ok_or("standard output is piped")?;
        let mut said = BufReader::new(output).lines();
        let url = said.next_line().await?.ok_or("a broker did not start")?;
        Ok(Self {
            url,
            log: process.stderr.take(),
            process,
            said,
            orders,
        })
    }

    /// The number of its process; none once it has ended.
    pub(crate) fn id(&self) -> Option<u32> {
        self.process.id()
    }

    async fn order(&mut self, order: Order) -> Result<(), Failure> {
        Ok(self
            .orders
            .write_all(format!("{order}\n").as_bytes())
            .await?)
    }

    async fn advance(&mut self, by: Duration) -> Result<(), Failure> {
        self.order(Order::Advance(by)).await?;
        match self.said.next_line().await?.as_deref() {
            Some(MOVED) => Ok(()),
            other => Err(format!("a broker said {other:?} when its clock was moved").into()),
        }
    }

    /// Lets it finish what it has begun, and waits until it has ended.
    pub(crate) async fn stop(&mut self) -> Result<(), Failure> {
        self.order(Order::Stop).await?;
        let status = self.process.wait().await?;
        match status.success() {
            true => Ok(()),
            false => Err(format!("a broker that was told to stop ended with {status}").into()),
        }
    }

    /// Waits until it says one more line, which it does when it halts.
    pub(crate) async fn halted(&mut self) -> Result<(), Failure> {
        let said = self.said.next_line().await?;
        said.map(drop)
            .ok_or_else(|| "a broker ended by itself".into())
    }

    /// `kill -9`; a dead one stays dead.
    pub(crate) async fn kill(&mut self) -> Result<(), Failure> {
        Ok(self.process.kill().await?)
    }
}
