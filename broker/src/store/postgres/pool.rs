//! A bounded pool of connections. Each step has a time limit; the tables are made
//! when the database is first reached.

#[cfg(all(test, feature = "postgres"))]
mod tests;

use std::time::Duration;

use deadpool_postgres::{
    GenericClient, Manager, ManagerConfig, Object, PoolError, RecyclingMethod, Runtime, Transaction,
};
use tokio::sync::OnceCell;
use tokio::time::timeout;
use tokio_postgres::{Config, NoTls};

use super::url::PostgresUrl;
use crate::store::error::{StoreError, check_version};
use crate::store::fail_points::{FailPoint, FailPoints};
use crate::store::sql::{SCHEMA, SCHEMA_VERSION};

/// The most steps that one broker runs at once; further ones wait.
const MAX_CONNECTIONS: usize = 16;

/// The time limit of waiting for a connection.
const WAIT: Duration = Duration::from_secs(3);

/// The time limit of a step that has its connection.
const STEP: Duration = Duration::from_secs(5);

/// Held while the tables are made, so that of several brokers that start at once
/// one makes them. The lock's name includes the schema: brokers that use another
/// schema of the same database do not wait for it.
const MIGRATION_LOCK: i32 = 0x0F51_0001;

/// The settings of every connection, whatever the defaults of the server, the
/// database and the role are. An acknowledged commit is on disk; a statement ends
/// soon after its caller's time limit; the locks of a broker that freezes within a
/// transaction are released.
const SETTINGS: &str = "-c synchronous_commit=on \
                        -c default_transaction_isolation=read\\ committed \
                        -c statement_timeout=6000 -c lock_timeout=4000 \
                        -c idle_in_transaction_session_timeout=6000";

/// Connections to one database.
pub(super) struct Pool {
    connections: deadpool_postgres::Pool,
    migrated: OnceCell<()>,
    fail_points: FailPoints,
}

impl Pool {
    /// A pool that connects when it is first needed.
    pub(super) fn to(url: &PostgresUrl, fail_points: FailPoints) -> Result<Self, StoreError> {
        let mut config: Config = url.expose().parse()?;
        let given = config.get_options().unwrap_or_default().to_owned();
        config.options(format!("{given} {SETTINGS}").trim_start());
        config.application_name("broker");
        config.connect_timeout(WAIT);
        let recycle = ManagerConfig {
            recycling_method: RecyclingMethod::Verified,
        };
        let connections =
            deadpool_postgres::Pool::builder(Manager::from_config(config, NoTls, recycle))
                .max_size(MAX_CONNECTIONS)
                .wait_timeout(Some(WAIT))
                .create_timeout(Some(WAIT))
                .recycle_timeout(Some(WAIT))
                .runtime(Runtime::Tokio1)
                .build()
                .map_err(|error| StoreError::Failed(error.to_string()))?;
        Ok(Self {
            connections,
            migrated: OnceCell::new(),
            fail_points,
        })
    }

    pub(super) fn fail_points(&self) -> &FailPoints {
        &self.fail_points
    }

    /// Runs a step of single statements, each committed by itself.
    pub(super) async fn run<T>(
        &self,
        step: impl AsyncFnOnce(&Object) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let client = self.connection().await?;
        let whole = async {
            let result = step(&client).await?;
            self.fail_points.hit(FailPoint::AfterCommit);
            Ok(result)
        };
        match in_time(whole).await {
            Some(result) => result,
            None => Err(abandon(client)),
        }
    }

    /// Runs a step in one transaction, committed before this returns.
    pub(super) async fn transact<T>(
        &self,
        step: impl AsyncFnOnce(&Transaction<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut client = self.connection().await?;
        let whole = async {
            let transaction = client.transaction().await?;
            let result = step(&transaction).await?;
            self.fail_points.hit(FailPoint::BeforeCommit);
            transaction.commit().await?;
            self.fail_points.hit(FailPoint::AfterCommit);
            Ok(result)
        };
        match in_time(whole).await {
            Some(result) => result,
            None => Err(abandon(client)),
        }
    }

    /// A connection to a database that has our tables.
    async fn connection(&self) -> Result<Object, StoreError> {
        let mut client = self.connections.get().await.map_err(unreachable)?;
        self.migrated
            .get_or_try_init(|| migrate(&mut client))
            .await?;
        Ok(client)
    }
}

/// Runs a step under its time limit.
#[expect(
    clippy::disallowed_methods,
    reason = "the time limit of a database is independent of our clock"
)]
async fn in_time<T>(step: impl Future<Output = T>) -> Option<T> {
    timeout(STEP, step).await.ok()
}

/// Closes a connection whose step took too long: its unfinished work must not
/// affect the next step.
fn abandon(client: Object) -> StoreError {
    drop(Object::take(client));
    StoreError::Failed("the database did not answer in time".to_owned())
}

fn unreachable(error: PoolError) -> StoreError {
    match error {
        PoolError::Backend(error) => error.into(),
        other => StoreError::Failed(other.to_string()),
    }
}

async fn migrate(client: &mut Object) -> Result<(), StoreError> {
    let transaction = client.transaction().await?;
    transaction
        .execute(
            "SELECT pg_advisory_xact_lock($1, hashtext(current_schema()))",
            &[&MIGRATION_LOCK],
        )
        .await?;
    transaction
        .batch_execute("CREATE TABLE IF NOT EXISTS broker_schema (version BIGINT NOT NULL)")
        .await?;
    match version(&transaction).await? {
        0 => {
            let tables = SCHEMA.replace("BYTES", "BYTEA");
            transaction.batch_execute(&tables).await?;
            transaction
                .execute("INSERT INTO broker_schema VALUES ($1)", &[&SCHEMA_VERSION])
                .await?;
        }
        found => check_version(found)?,
    }
    transaction.commit().await.map_err(StoreError::from)
}

/// The version of the tables; 0 before there are any.
pub(super) async fn version(client: &impl GenericClient) -> Result<i64, StoreError> {
    let statement = client
        .prepare_cached("SELECT version FROM broker_schema")
        .await?;
    let found = client.query_opt(&statement, &[]).await?;
    Ok(found.map_or(0, |row| row.get("version")))
}
