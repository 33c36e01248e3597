//! A PostgreSQL server, and what its brokers have used of it.

use std::io;
use std::time::Duration;

use testkit::postgres::{Durability, Server};
use tokio_postgres::{Client, NoTls};

use super::cpu_of;
use crate::cores::Cores;
use crate::error::BenchError;

/// The database of the brokers.
const NAME: &str = "postgres";

/// A durable server on the load's core. Dropped, it is gone with its files.
pub(crate) struct Database {
    server: Server,
    process: u32,
    client: Client,
}

/// What all steps have used.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Usage {
    pub(crate) statements: f64,
    pub(crate) log_bytes: f64,
    pub(crate) cpu: Duration,
}

impl Database {
    pub(crate) async fn start(cores: Cores) -> Result<Self, BenchError> {
        let settings = ["shared_preload_libraries=pg_stat_statements"];
        let start = || Server::start_with(Durability::Durable, &settings);
        let server = cores.start_on(cores.load, start)?;
        let server = server.map_err(BenchError::NoPostgres)?;
        let file = std::fs::read_to_string(server.cluster().join("postmaster.pid"))?;
        let process = file.lines().next().and_then(|line| line.parse().ok());
        let process = process.ok_or_else(|| BenchError::because("PostgreSQL names no process"))?;
        let (client, connection) = tokio_postgres::connect(&server.url(NAME), NoTls).await?;
        tokio::spawn(connection);
        let create = "CREATE EXTENSION pg_stat_statements";
        client.batch_execute(create).await?;
        Ok(Self {
            server,
            process,
            client,
        })
    }

    pub(crate) fn url(&self) -> String {
        self.server.url(NAME)
    }

    /// Statements, log and processor time until now.
    pub(crate) async fn usage(&self) -> Result<Usage, BenchError> {
        let row = self.client.query_one(
            "SELECT (SELECT coalesce(sum(calls), 0)::float8 FROM pg_stat_statements),
                    (pg_current_wal_insert_lsn() - '0/0')::float8",
            &[],
        );
        let row = row.await?;
        Ok(Usage {
            statements: row.get(0),
            log_bytes: row.get(1),
            cpu: cpu_of_family(self.process)?,
        })
    }
}

/// The CPU time of a process and its children. One that has ended is left out: a broker
/// keeps its connections, of which each is a process.
fn cpu_of_family(parent: u32) -> io::Result<Duration> {
    let mut all = cpu_of(parent)?;
    for entry in std::fs::read_dir("/proc")? {
        let Some(process) = entry?.file_name().to_str().and_then(|it| it.parse().ok()) else {
            continue;
        };
        if parent_of(process) == Some(parent) {
            // It may have ended since.
            all += cpu_of(process).unwrap_or_default();
        }
    }
    Ok(all)
}

fn parent_of(process: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name in parentheses may contain anything; then comes the state, then the parent.
    let (_, after_name) = stat.rsplit_once(')')?;
    after_name.split_whitespace().nth(1)?.parse().ok()
}
