//! PostgreSQL, for several brokers on one database.
//!
//! Each step is one statement, and a sweep one transaction, at `READ COMMITTED`: a second
//! `UPDATE` of a row waits for the first and then evaluates its condition again, so that one
//! of many concurrent steps changes the row and the others change nothing. Where a database
//! undoes one of the two instead (a serialization failure, a deadlock), that step is taken
//! again. The [`connections`] are bounded, and each step has a time limit; the tables are
//! made when the database is first reached.

pub(super) mod executor;
pub(super) mod url;

mod connections;
mod hosts;
#[cfg(all(test, feature = "postgres"))]
mod tests;

use std::time::Duration;

use deadpool_postgres::{GenericClient as _, Object};
use tokio::sync::OnceCell;
use tokio::time::timeout;

use super::fail_points::{FailPoint, FailPoints};
use super::outcome::{StoreError, check_version};
use super::row::{Executor as _, parameters};
use super::sql::{SCHEMA, SCHEMA_VERSION};
use crate::model::UnixMs;
use connections::{SETTINGS, Settings};
use executor::PostgresExecutor;
use url::{PoolMode, PostgresUrl};

pub(super) use executor::StepError;

/// The time limit of a step that has its connection. It is shorter than
/// `statement_timeout`: a commit that waits for a synchronous standby when it is
/// cancelled counts as done, and must not be acknowledged.
const STEP: Duration = Duration::from_secs(5);

/// The most attempts at a step that the database undid in favour of another one.
pub(super) const MAX_ATTEMPTS: usize = 5;

/// Held while the tables are made, so that of several brokers that start at once
/// one makes them. The lock's name includes the schema: brokers that use another
/// schema of the same database do not wait for it.
const MIGRATION_LOCK: i64 = 0x0F51_0001;

/// The store of several brokers: connections to one database.
pub(super) struct Postgres {
    connections: deadpool_postgres::Pool,
    mode: PoolMode,
    begin: String,
    migrated: OnceCell<()>,
    fail_points: FailPoints,
}

/// Takes the step that an expression begins, until it has a result. No function: a future
/// that calls a closure by reference is not `Send`.
macro_rules! repeat {
    ($step:expr) => {{
        use $crate::store::postgres::{MAX_ATTEMPTS, StepError};
        let mut attempts = 0;
        loop {
            attempts += 1;
            match $step.await {
                Err(StepError::Conflict(_)) if attempts < MAX_ATTEMPTS => {}
                result => break result.map_err(StoreError::from),
            }
        }
    }};
}
pub(super) use repeat;

impl Postgres {
    /// A store at `url`. It connects when it is first needed, and again whenever
    /// the database comes back.
    ///
    /// # Errors
    ///
    /// If the certificate authorities that the address names cannot be read.
    pub(super) fn at(url: &PostgresUrl, fail_points: FailPoints) -> Result<Self, StoreError> {
        Self::with_settings(url, fail_points, SETTINGS)
    }

    fn with_settings(
        url: &PostgresUrl,
        fail_points: FailPoints,
        settings: Settings,
    ) -> Result<Self, StoreError> {
        let mode = url.pool_mode();
        Ok(Self {
            connections: connections::to(url, settings)?,
            mode,
            begin: match mode {
                PoolMode::Session => "BEGIN".to_owned(),
                PoolMode::Transaction => settings.begin(),
            },
            migrated: OnceCell::new(),
            fail_points,
        })
    }

    /// Checks that the tables are ours, and that this server takes writes: a standby
    /// answers reads, and refuses even a change of no row.
    pub(super) async fn ready(&self) -> Result<(), StoreError> {
        const NO_CHANGE: &str = "UPDATE broker_schema SET version = version WHERE false";
        repeat!(self.run(async |db| {
            check_version(version(db).await?)?;
            db.change(NO_CHANGE, &[]).await.map(drop)
        }))
    }

    /// The time of the server's clock.
    pub(super) async fn time(&self) -> Result<Option<UnixMs>, StoreError> {
        const NOW: &str = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::BIGINT AS now";
        let read = async |db: &PostgresExecutor<'_>| db.one(NOW, &[], |row| row.time("now")).await;
        repeat!(self.run(read)).map(Option::flatten)
    }

    /// Takes a step of single statements, each committed by itself.
    pub(super) async fn run<T>(
        &self,
        step: impl AsyncFnOnce(&PostgresExecutor<'_>) -> Result<T, StepError>,
    ) -> Result<T, StepError> {
        // Between a statement and its own commit nothing can be stopped.
        if self.mode == PoolMode::Transaction || self.fail_points.are_set() {
            return self.transact(step).await;
        }
        let client = self.connection().await?;
        let db = self.executor(&client);
        match in_time(step(&db)).await {
            Some(result) => result,
            None => Err(self.abandon(client)),
        }
    }

    /// Takes a step in one transaction, committed before this returns.
    pub(super) async fn transact<T>(
        &self,
        step: impl AsyncFnOnce(&PostgresExecutor<'_>) -> Result<T, StepError>,
    ) -> Result<T, StepError> {
        let client = Transacting(Some(self.connection().await?));
        let db = self.executor(client.get());
        let result = in_time(transaction(&db, &self.begin, step)).await;
        let client = client.end();
        match result {
            Some(result) => result,
            None => Err(self.abandon(client)),
        }
    }

    fn executor<'a>(&'a self, client: &'a Object) -> PostgresExecutor<'a> {
        PostgresExecutor {
            client,
            mode: self.mode,
            fail_points: &self.fail_points,
        }
    }

    /// A connection to a database that has our tables, within the time limit of a step.
    async fn connection(&self) -> Result<Object, StepError> {
        match in_time(self.connect()).await {
            Some(connection) => connection,
            None => Err(no_answer()),
        }
    }

    async fn connect(&self) -> Result<Object, StepError> {
        let client = self.connections.get().await;
        let client = Transacting(Some(client.map_err(connections::unreachable)?));
        self.migrated
            .get_or_try_init(|| self.migrate(client.get()))
            .await?;
        Ok(client.end())
    }

    /// Makes the tables. A migration is no step: it passes no fail point.
    async fn migrate(&self, client: &Object) -> Result<(), StepError> {
        let db = PostgresExecutor {
            fail_points: &FailPoints::NONE,
            ..self.executor(client)
        };
        transaction(&db, &self.begin, create_tables).await
    }

    /// Closes a connection whose step took too long: its unfinished work must not
    /// affect the next step. The idle ones lead to the same server, and are not waited
    /// for either.
    fn abandon(&self, client: Object) -> StepError {
        drop(Object::take(client));
        self.connections.retain(|_, _| false);
        no_answer()
    }
}

fn no_answer() -> StepError {
    StoreError::Failed("the database did not answer in time".to_owned()).into()
}

/// A connection that may be in a transaction: dropped, as when a client hangs up, it is
/// closed.
struct Transacting(Option<Object>);

impl Transacting {
    fn get(&self) -> &Object {
        self.0.as_ref().expect("it has not ended")
    }

    /// Its transaction is over: the connection may be lent again.
    fn end(mut self) -> Object {
        self.0.take().expect("it has not ended")
    }
}

impl Drop for Transacting {
    fn drop(&mut self) {
        if let Some(client) = self.0.take() {
            drop(Object::take(client));
        }
    }
}

/// Takes a step in one transaction, once.
async fn transaction<T>(
    db: &PostgresExecutor<'_>,
    begin: &str,
    step: impl AsyncFnOnce(&PostgresExecutor<'_>) -> Result<T, StepError>,
) -> Result<T, StepError> {
    let whole = async {
        db.client.batch_execute(begin).await?;
        let result = step(db).await?;
        db.fail_points.hit(FailPoint::AfterRead);
        db.fail_points.hit(FailPoint::BeforeCommit);
        db.client.batch_execute("COMMIT").await?;
        db.fail_points.hit(FailPoint::AfterCommit);
        Ok(result)
    };
    let result = whole.await;
    if result.is_err() {
        // If this fails as well, the connection is of no more use, and not lent again.
        let _ = db.client.batch_execute("ROLLBACK").await;
    }
    result
}

/// Runs a step under its time limit.
#[expect(
    clippy::disallowed_methods,
    reason = "the time limit of a database is independent of our clock"
)]
async fn in_time<T>(step: impl Future<Output = T>) -> Option<T> {
    timeout(STEP, step).await.ok()
}

async fn create_tables(db: &PostgresExecutor<'_>) -> Result<(), StepError> {
    const LOCK: &str = "SELECT pg_advisory_xact_lock($1::BIGINT::INT, hashtext(current_schema()))";
    db.change(LOCK, parameters![MIGRATION_LOCK]).await?;
    db.client
        .batch_execute("CREATE TABLE IF NOT EXISTS broker_schema (version BIGINT NOT NULL)")
        .await?;
    match version(db).await? {
        0 => {
            let tables = SCHEMA.replace("BYTES", "BYTEA");
            db.client.batch_execute(&tables).await?;
            let insert = "INSERT INTO broker_schema VALUES ($1)";
            db.change(insert, parameters![SCHEMA_VERSION]).await?;
            Ok(())
        }
        found => Ok(check_version(found)?),
    }
}

/// The version of the tables; 0 before there are any.
async fn version(db: &PostgresExecutor<'_>) -> Result<i64, StepError> {
    let found = db.row("SELECT version FROM broker_schema", &[]).await?;
    Ok(found.map_or(0, |row| row.get("version")))
}
