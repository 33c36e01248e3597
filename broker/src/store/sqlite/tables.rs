//! The tables in the file: their version, their integrity and their creation, and the
//! transactions on these tables. Nothing is written to the file of another program.

use std::time::Duration;

use rusqlite::{Connection, Result};

use super::executor::damaged;
use crate::store::fail_points::{FailPoint, FailPoints};
use crate::store::outcome::{StoreError, check_version};
use crate::store::sql::{SCHEMA, SCHEMA_VERSION};

/// The time to wait for another process that holds the file.
const BUSY: Duration = Duration::from_secs(5);

/// More than there are: each is parsed once.
const STATEMENTS: usize = 32;

/// Makes a connection that only reads ready for the statements of steps.
pub(super) fn prepare_reader(connection: &Connection) -> Result<()> {
    connection.busy_timeout(BUSY)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    connection.pragma_update(None, "query_only", "on")
}

/// Makes the connection durable and the tables ready.
pub(super) fn prepare(connection: &mut Connection) -> std::result::Result<(), StoreError> {
    connection.busy_timeout(BUSY)?;
    check(connection)?;
    connection.pragma_update(None, "journal_mode", "wal")?;
    wait_for_disk(connection, true)?;
    // Of macOS alone, whose fsync does not wait for the disk.
    connection.pragma_update(None, "fullfsync", "on")?;
    // Deleted values are overwritten in the file.
    connection.pragma_update(None, "secure_delete", "on")?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    migrate(connection)
}

/// Makes commits wait until they are on disk, with all before them, or not: one that is lost
/// in a power cut could un-consume a result. Without, checkpoints wait for it all the same.
pub(super) fn wait_for_disk(connection: &Connection, waits: bool) -> Result<()> {
    let level = if waits { "full" } else { "normal" };
    connection.pragma_update(None, "synchronous", level)
}

/// The version of the tables; 0 before there are any.
pub(super) fn version(db: &Connection) -> Result<i64> {
    db.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Checks the version, and that the file can be written: the same version is written
/// again, which takes space on the disk as a step does.
pub(super) fn write_version(db: &Connection) -> Result<i64> {
    let found = version(db)?;
    db.pragma_update(None, "user_version", found)?;
    Ok(found)
}

/// Reads the file without writing to it. A damaged one is refused although most
/// steps might succeed: one of them could find a result that was consumed.
fn check(connection: &mut Connection) -> std::result::Result<(), StoreError> {
    let db = connection.transaction()?;
    match version(&db)? {
        0 if has_tables(&db)? => return Err(another_program()),
        0 => {}
        found => check_version(found)?,
    }
    let report: String = db.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    if report == "ok" {
        Ok(())
    } else {
        Err(damaged())
    }
}

fn has_tables(db: &Connection) -> Result<bool> {
    db.query_row("SELECT EXISTS (SELECT 1 FROM sqlite_schema)", [], |row| {
        row.get(0)
    })
}

fn another_program() -> StoreError {
    StoreError::Failed(
        "the database has the tables of another program; name another file in store.url".to_owned(),
    )
}

fn migrate(db: &Connection) -> std::result::Result<(), StoreError> {
    let transaction = Transaction::begin(db)?;
    match version(db)? {
        0 => db.execute_batch(&SCHEMA.replace("BYTES", "BLOB"))?,
        found => check_version(found)?,
    }
    // Written even if unchanged, so that a database that cannot be written fails now.
    db.pragma_update(None, "user_version", SCHEMA_VERSION)?;
    // A migration is no step: it passes no fail point.
    Ok(transaction.commit(&FailPoints::NONE)?)
}

/// A transaction that excludes every other writer from its start. Dropped without a
/// commit, it is rolled back. Its statements are prepared once: `rusqlite`'s own parses
/// `BEGIN` and `COMMIT` each time, which costs as much as a step's statement.
pub(super) struct Transaction<'a>(&'a Connection);

impl<'a> Transaction<'a> {
    pub(super) fn begin(db: &'a Connection) -> Result<Self> {
        run(db, "BEGIN IMMEDIATE")?;
        Ok(Self(db))
    }

    /// Commits, and passes the fail points around that.
    pub(super) fn commit(self, fail_points: &FailPoints) -> Result<()> {
        fail_points.hit(FailPoint::BeforeCommit);
        run(self.0, "COMMIT")?;
        fail_points.hit(FailPoint::AfterCommit);
        Ok(())
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        // After a commit nothing is open; after some errors SQLite has rolled back.
        if !self.0.is_autocommit() {
            let _ = run(self.0, "ROLLBACK");
        }
    }
}

fn run(db: &Connection, statement: &str) -> Result<()> {
    db.prepare_cached(statement)?.execute([]).map(drop)
}
