//! A transaction whose statements are prepared once: `rusqlite`'s own parses `BEGIN` and
//! `COMMIT` each time, which costs as much as a step's statement.

use rusqlite::{Connection, Result};

/// A transaction that excludes every other writer from its start. Dropped without a
/// commit, it is rolled back.
pub(super) struct Transaction<'a>(&'a Connection);

impl<'a> Transaction<'a> {
    /// Begins a transaction.
    pub(super) fn begin(db: &'a Connection) -> Result<Self> {
        run(db, "BEGIN IMMEDIATE")?;
        Ok(Self(db))
    }

    /// Commits it.
    pub(super) fn commit(self) -> Result<()> {
        run(self.0, "COMMIT")
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
