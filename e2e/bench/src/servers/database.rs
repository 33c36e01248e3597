//! A PostgreSQL server, and what it has used.

use std::time::Duration;

use testkit::postgres::Server;
use tokio_postgres::{Client, NoTls};

use super::process::cpu_of_family;
use crate::cores::CoreChoice;
use crate::error::BenchError;
use crate::setup::Setup;

/// A durable server. Dropped, it is gone with its files.
#[derive(Debug)]
pub(crate) struct Database {
    server: Server,
    process: u32,
}

/// What all steps have used.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Statistics {
    pub(crate) statements: f64,
    pub(crate) wal_bytes: f64,
    pub(crate) fsyncs: f64,
}

impl Database {
    /// Starts a server with these settings.
    pub(crate) fn start(
        setup: &Setup,
        place: CoreChoice,
        settings: &[&str],
    ) -> Result<Self, BenchError> {
        let server = setup.start_postgres(place, settings)?;
        let file = std::fs::read_to_string(server.cluster().join("postmaster.pid"))?;
        let process = file.lines().next().and_then(|line| line.parse().ok());
        let no_process = || BenchError::Server("PostgreSQL names no process".to_owned());
        Ok(Self {
            server,
            process: process.ok_or_else(no_process)?,
        })
    }

    /// The URL of one of its databases.
    pub(crate) fn url(&self, database: &str) -> String {
        self.server.url(database)
    }

    /// Makes an empty database.
    pub(crate) async fn create(&self, name: &str) -> Result<(), BenchError> {
        let client = self.client("postgres").await?;
        client
            .batch_execute(&format!("CREATE DATABASE {name}"))
            .await?;
        Ok(())
    }

    /// A connection to one of its databases.
    pub(crate) async fn client(&self, database: &str) -> Result<Client, BenchError> {
        let (client, connection) = tokio_postgres::connect(&self.url(database), NoTls).await?;
        tokio::spawn(connection);
        Ok(client)
    }

    /// The CPU time of all its processes, those that have ended included.
    pub(crate) fn cpu(&self) -> Result<Duration, BenchError> {
        cpu_of_family(self.process)
    }

    /// The number of connections that brokers have to it now.
    pub(crate) async fn connections(&self) -> Result<i64, BenchError> {
        let client = self.client("postgres").await?;
        let count = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'broker'";
        Ok(client.query_one(count, &[]).await?.get(0))
    }

    /// Waits until no broker is connected: a connection reports its last statistics when
    /// it closes.
    pub(crate) async fn wait_for_statistics(&self) -> Result<(), BenchError> {
        while self.connections().await? > 0 {
            pause().await;
        }
        Ok(())
    }

    /// What all databases have used, once no broker is connected.
    pub(crate) async fn statistics(&self) -> Result<Statistics, BenchError> {
        self.wait_for_statistics().await?;
        let client = self.client("postgres").await?;
        let row = client
            .query_one(
                "SELECT (SELECT coalesce(sum(calls), 0)::float8 FROM pg_stat_statements),
                        (pg_current_wal_insert_lsn() - '0/0')::float8,
                        (SELECT wal_sync::float8 FROM pg_stat_wal)",
                &[],
            )
            .await?;
        Ok(Statistics {
            statements: row.get(0),
            wal_bytes: row.get(1),
            fsyncs: row.get(2),
        })
    }
}

#[expect(clippy::disallowed_methods, reason = "a wait for another process")]
async fn pause() {
    tokio::time::sleep(Duration::from_millis(20)).await;
}
