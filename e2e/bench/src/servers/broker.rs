//! A broker as operators start it, with its configuration in a file; and a PostgreSQL
//! server, and what its brokers have used of it.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use agent::random::digest;
use testkit::postgres::{Durability, Server};
use tokio_postgres::{Client, NoTls};

use super::{Start, cpu_of, free_address, relay};
use crate::BenchError;
use crate::load::login::CLIENT_SECRET;
use crate::report::{BYTES, Figure, MICROSECONDS, NUMBER, us};
use crate::setup::Setup;

/// Names of stores in a table.
pub(crate) const FILE: &str = "SQLite file";
pub(crate) const POSTGRES: &str = "PostgreSQL";

/// A broker's store.
#[derive(Debug, Clone)]
pub(crate) enum Store {
    /// SQLite in memory.
    Memory,
    /// SQLite in a file.
    File,
    /// PostgreSQL at this URL.
    Postgres(String),
}

impl Store {
    /// Its name in a table.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::File => FILE,
            Self::Postgres(_) => POSTGRES,
        }
    }
}

/// A broker's files: its configuration, which its process reads when it starts.
#[derive(Debug)]
pub(crate) struct BrokerConfig {
    pub(crate) address: SocketAddr,
    folder: PathBuf,
}

impl BrokerConfig {
    /// The configuration of a broker with `store`, whose users sign in at `providers`, in a
    /// new folder in `parent`.
    pub(crate) fn new(
        store: &Store,
        providers: SocketAddr,
        parent: &Path,
    ) -> Result<Self, BenchError> {
        let config = Self {
            address: free_address()?,
            folder: tempfile::tempdir_in(parent)?.keep(),
        };
        fs::write(config.path(), config.text(store, providers))?;
        Ok(config)
    }

    /// The path of its configuration.
    pub(crate) fn path(&self) -> PathBuf {
        self.folder.join("broker.toml")
    }

    /// The path of its SQLite file.
    pub(crate) fn file(&self) -> PathBuf {
        self.folder.join("broker.db")
    }

    /// Serves this configuration. The log is formatted, written, and lost.
    pub(crate) fn start(&self, program: &Path) -> Start {
        let mut command = Command::new(program);
        command.arg("serve").arg("--config").arg(self.path());
        // Its configuration is the file.
        command.env_clear().env("PATH", "/usr/bin:/bin");
        command.stderr(Stdio::null());
        (command, self.address, "/livez".to_owned())
    }

    fn text(&self, store: &Store, providers: SocketAddr) -> String {
        let store = match store {
            Store::Memory => "sqlite::memory:".to_owned(),
            Store::File => format!("sqlite:{}", self.file().display()),
            Store::Postgres(url) => url.clone(),
        };
        include_str!("broker.toml")
            .replace("<ADDRESS>", &self.address.to_string())
            .replace("<COOKIE_KEY>", &digest("the cookie key"))
            .replace("<STORE>", &store)
            .replace("<PROVIDERS>", &format!("http://{providers}"))
            .replace("<SECRET>", &digest(CLIENT_SECRET))
    }
}

/// The database of the brokers.
const DATABASE: &str = "postgres";

/// The work of PostgreSQL for its broker.
pub(crate) const STATEMENTS: Figure = Figure("statements of a login", NUMBER);
/// Six, and now and then those of a sweep.
pub(crate) const MAX_STATEMENTS: f64 = 6.04;
pub(crate) const LOG: Figure = Figure("write-ahead log of a login", BYTES);
pub(crate) const DATABASE_CPU: Figure = Figure("CPU of a login in PostgreSQL", MICROSECONDS);

/// A durable server on the load's core. Dropped, it is gone with its files.
pub(crate) struct Database {
    server: Server,
    process: u32,
    client: Client,
}

impl Database {
    pub(crate) async fn start(setup: &Setup) -> Result<Self, BenchError> {
        let settings = ["shared_preload_libraries=pg_stat_statements"];
        let start = || Server::start_with(Durability::Durable, &settings);
        let server = setup.cores.start_on(setup.cores.load, start)?;
        let server = server.map_err(|error| {
            BenchError::because(format!("{error}; without PostgreSQL: --no-postgres"))
        })?;
        let file = fs::read_to_string(server.cluster().join("postmaster.pid"))?;
        let process = file.lines().next().and_then(|line| line.parse().ok());
        let process = process.ok_or_else(|| BenchError::because("PostgreSQL names no process"))?;
        let (client, connection) = tokio_postgres::connect(&server.url(DATABASE), NoTls).await?;
        tokio::spawn(connection);
        let create = "CREATE EXTENSION pg_stat_statements";
        client.batch_execute(create).await?;
        Ok(Self {
            server,
            process,
            client,
        })
    }

    /// Its store, for a broker.
    pub(crate) fn store(&self) -> Store {
        Store::Postgres(self.server.url(DATABASE))
    }

    /// The same, with this delay in each direction between it and its brokers.
    pub(crate) fn store_at(&self, delay: Duration) -> Result<Store, BenchError> {
        let socket = Path::new(self.server.socket()).join(".s.PGSQL.5432");
        let address = relay::start(socket, delay)?;
        Ok(Store::Postgres(format!(
            "postgres://broker@{address}/{DATABASE}"
        )))
    }

    /// Statements, log and processor time until now.
    pub(crate) async fn usage(&self) -> Result<[(Figure, f64); 3], BenchError> {
        let row = self.client.query_one(
            "SELECT (SELECT coalesce(sum(calls), 0)::float8 FROM pg_stat_statements),
                    (pg_current_wal_insert_lsn() - '0/0')::float8",
            &[],
        );
        let row = row.await?;
        let cpu = us(cpu_of_family(self.process)?);
        Ok([
            (STATEMENTS, row.get(0)),
            (LOG, row.get(1)),
            (DATABASE_CPU, cpu),
        ])
    }
}

/// The CPU time of a process and its children. One that has ended is left out: a broker
/// keeps its connections, of which each is a process.
fn cpu_of_family(parent: u32) -> io::Result<Duration> {
    let children = fs::read_to_string(format!("/proc/{parent}/task/{parent}/children"))?;
    let children = children.split_whitespace().filter_map(|it| it.parse().ok());
    // It may have ended since.
    let children = children.map(|child| cpu_of(child).unwrap_or_default());
    Ok(cpu_of(parent)? + children.sum::<Duration>())
}
