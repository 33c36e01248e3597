//! Brokers on one database, and the imitated providers that they sign in with.

use std::path::PathBuf;
use std::process::Stdio;

use clap::ValueEnum;
use mock_upstream::{MockUpstream, Settings};
use tempfile::TempDir;
use throwaway_postgres::{Durability, Server};
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::Failure;
use crate::chance::digest;
use crate::client::{BASE_URL, CALLBACK, CLIENT_ID, CLIENT_SECRET};
use crate::replica::Halt;

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
    pub(crate) upstream: MockUpstream,
    pub(crate) database: Option<Server>,
    scratch: TempDir,
}

/// One running broker.
pub(crate) struct Replica {
    /// Its URL, without a trailing slash.
    pub(crate) url: String,
    process: Child,
    said: Lines<BufReader<ChildStdout>>,
    /// Closed, it ends.
    _life: ChildStdin,
}

impl Fleet {
    /// Starts `count` brokers on an empty database.
    pub(crate) async fn start(engine: Engine, count: usize) -> Result<Self, Failure> {
        let scratch = tempfile::Builder::new().prefix("prove-").tempdir()?;
        let upstream = start_upstream().await?;
        let database = match engine {
            Engine::Sqlite => None,
            Engine::Postgres => Some(Server::start(Durability::Durable)?),
        };
        let mut fleet = Self {
            brokers: Vec::new(),
            upstream,
            database,
            scratch,
        };
        std::fs::write(fleet.config_path(), fleet.config())?;
        for _ in 0..count {
            let broker = Replica::start(fleet.config_path(), None).await?;
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
        self.brokers[0] = Replica::start(self.config_path(), halt).await?;
        Ok(())
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

async fn start_upstream() -> Result<MockUpstream, Failure> {
    let client = |provider: &str| {
        let callback = format!("{BASE_URL}/callback/{provider}");
        mock_upstream::Client::new("fleet", "fleet", [callback])
    };
    let settings = Settings::new(client("google")?, client("github")?);
    Ok(MockUpstream::start(settings).await?)
}

impl Replica {
    async fn start(config: PathBuf, halt: Option<Halt>) -> Result<Self, Failure> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("replica").arg("--config").arg(config);
        if let Some(halt) = halt {
            command.arg("--halt").arg(halt.to_string());
        }
        let mut process = command
            // Its configuration is the file alone.
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let life = process.stdin.take().ok_or("standard input is piped")?;
        let output = process.stdout.take().ok_or("standard output is piped")?;
        let mut said = BufReader::new(output).lines();
        let url = said.next_line().await?.ok_or("a broker did not start")?;
        Ok(Self {
            url,
            process,
            said,
            _life: life,
        })
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
