//! A connection on which steps run at once, on their caller's thread: all steps of a
//! database in memory, and those that only read a file.
//!
//! Neither waits for a disk to write, so neither is worth the way to another thread and
//! back, which costs more than most steps. In WAL mode a reader sees what is durable:
//! SQLite publishes a commit to other connections after it has reached the disk.

use std::panic::{AssertUnwindSafe, catch_unwind};

use parking_lot::Mutex;
use rusqlite::{Connection, Result};

use super::tables::Transaction;
use crate::store::fail_points::{FailPoint, FailPoints};
use crate::store::outcome::StoreError;

/// A connection that its callers use one after the other.
pub(super) struct Inline {
    connection: Mutex<Connection>,
    fail_points: FailPoints,
}

impl Inline {
    pub(super) fn new(connection: Connection, fail_points: FailPoints) -> Self {
        Self {
            connection: Mutex::new(connection),
            fail_points,
        }
    }

    /// Runs a step that changes nothing.
    pub(super) fn read<T>(
        &self,
        step: impl FnOnce(&Connection) -> Result<T>,
    ) -> std::result::Result<T, StoreError> {
        Ok(self.run(&self.connection.lock(), step)?)
    }

    /// Runs a step in a transaction, and commits it. One that a panic ends is rolled back, so
    /// that the connection serves the next.
    pub(super) fn commit<T>(
        &self,
        step: impl FnOnce(&Connection) -> Result<T>,
    ) -> std::result::Result<T, StoreError> {
        let connection = self.connection.lock();
        let transaction = Transaction::begin(&connection)?;
        let result = self.run(&connection, step)?;
        transaction.commit(&self.fail_points)?;
        Ok(result)
    }

    fn run<T>(
        &self,
        connection: &Connection,
        step: impl FnOnce(&Connection) -> Result<T>,
    ) -> Result<T> {
        let result = catch_panic(|| step(connection))?;
        self.fail_points.hit(FailPoint::AfterRead);
        Ok(result)
    }
}

/// Runs a step, which must not take the store with it when it panics.
pub(super) fn catch_panic<T>(step: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(step)).unwrap_or(Err(rusqlite::Error::UnwindingPanic))
}

#[cfg(test)]
mod tests {
    use rusqlite::Error;

    use super::*;

    fn inline() -> Inline {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch("CREATE TABLE t (n)").unwrap();
        Inline::new(connection, FailPoints::NONE)
    }

    fn insert(db: &Connection) -> Result<usize> {
        db.execute("INSERT INTO t VALUES (1)", [])
    }

    #[track_caller]
    fn check_rows(inline: &Inline, expected: i64) {
        let rows = inline.read(|db| db.query_row("SELECT count(*) FROM t", [], |row| row.get(0)));
        let rows: i64 = rows.unwrap();
        assert_eq!(rows, expected);
    }

    #[test]
    fn a_step_that_fails_leaves_nothing_behind() {
        let inline = inline();
        let failed: std::result::Result<(), _> = inline.commit(|db| {
            insert(db)?;
            Err(Error::InvalidQuery)
        });
        assert!(failed.is_err());
        check_rows(&inline, 0);
        inline.commit(insert).unwrap();
        check_rows(&inline, 1);
    }

    #[test]
    fn a_step_that_panics_is_an_error_and_leaves_nothing_behind() {
        let inline = inline();
        let panicked: std::result::Result<(), _> = inline.commit(|db| {
            insert(db)?;
            panic!("a step's own fault")
        });
        assert!(panicked.is_err());
        check_rows(&inline, 0);
        inline.commit(insert).unwrap();
        check_rows(&inline, 1);
    }
}
