//! The database of the sessions and the accounts: SQLite, in a file that several processes may
//! share, or in memory.
//!
//! Statements run where they are called, on the thread of the request: each takes
//! microseconds, and no commit waits for the disk. A database behind a network is awaited
//! instead; the statements stay the same.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use rusqlite::types::Type;
use rusqlite::{
    Connection, Error, ErrorCode, OptionalExtension as _, Params, Result, Row, TransactionBehavior,
};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// The time to wait for another process that is writing.
const BUSY: Duration = Duration::from_secs(5);

/// The connection of this process.
pub(crate) struct Database(Mutex<Connection>);

impl Database {
    /// Opens the file at `path`, or a database in memory, and makes the tables that are
    /// missing.
    pub(crate) fn open(path: Option<&Path>) -> Result<Self> {
        let connection = match path {
            Some(path) => {
                make_private(path);
                Connection::open(path)?
            }
            None => Connection::open_in_memory()?,
        };
        connection.busy_timeout(BUSY)?;
        connection.pragma_update(None, "foreign_keys", "on")?;
        // What was deleted is overwritten: a copy of the file holds no used key.
        connection.pragma_update(None, "secure_delete", "on")?;
        write_ahead(&connection)?;
        // A power cut may undo the last commits. Then a used key is back, and the broker
        // refuses it; had a commit to survive that, each would wait for the disk.
        connection.pragma_update(None, "synchronous", "normal")?;
        let database = Self(Mutex::new(connection));
        database.try_step(|db| db.execute_batch(include_str!("schema.sql")))?;
        Ok(database)
    }

    /// Runs one statement, which is one step by itself.
    pub(crate) fn run<R>(&self, statement: impl FnOnce(&Connection) -> Result<R>) -> R {
        let result = statement(&self.lock());
        result.unwrap_or_else(|error| give_up(&error))
    }

    /// Runs several statements as one step: no other request, of this process or another,
    /// sees one of their changes without the others, or changes something in between.
    pub(crate) fn step<R>(&self, statements: impl FnOnce(&Connection) -> Result<R>) -> R {
        self.try_step(statements)
            .unwrap_or_else(|error| give_up(&error))
    }

    fn try_step<R>(&self, statements: impl FnOnce(&Connection) -> Result<R>) -> Result<R> {
        let mut connection = self.lock();
        // Immediate: it takes the write lock now. A transaction that reads first, and takes
        // the lock when it writes, fails if another process has written in between.
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let result = statements(&transaction)?;
        transaction.commit()?;
        Ok(result)
    }

    fn lock(&self) -> MutexGuard<'_, Connection> {
        self.0.lock().expect("nothing panics while holding it")
    }
}

/// Makes a new file readable by its owner alone: it will hold keys and tokens. If that fails,
/// opening it says why.
fn make_private(path: &Path) {
    let _ = OpenOptions::new()
        .create(true)
        .append(true)
        .mode(0o600)
        .open(path);
}

/// Switches to a write-ahead log, in which a reader waits for no writer.
///
/// Where another process that has just started does so at the same moment, SQLite reports that
/// and does not wait, although there is a time to wait. A transaction does wait; after it, the
/// other process has made the switch.
fn write_ahead(db: &Connection) -> Result<()> {
    let switch = || db.pragma_update(None, "journal_mode", "wal");
    match switch() {
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => {
            db.execute_batch("BEGIN IMMEDIATE; COMMIT")?;
            switch()
        }
        switched => switched,
    }
}

/// Ends a request that cannot read or write its session, for example because the disk is
/// full: Rocket catches the panic and answers 500. No handler could do better. The lock is
/// free by now, and SQLite has undone the step.
fn give_up(error: &Error) -> ! {
    tracing::error!(%error, "the sessions cannot be read or written");
    panic!("the sessions cannot be read or written");
}

/// The row that a statement returns, if there is one.
pub(crate) fn row<T>(
    db: &Connection,
    statement: &str,
    parameters: impl Params,
    read: impl FnOnce(&Row<'_>) -> Result<T>,
) -> Result<Option<T>> {
    db.query_row(statement, parameters, read).optional()
}

/// The text of a column, as the type that it was written from.
pub(crate) fn text<T: DeserializeOwned>(row: &Row<'_>, column: &'static str) -> Result<T> {
    let text = Value::String(row.get(column)?);
    serde_json::from_value(text).map_err(|_| unreadable(column))
}

/// The JSON of a column.
pub(crate) fn json<T: DeserializeOwned>(row: &Row<'_>, column: &'static str) -> Result<T> {
    let json: String = row.get(column)?;
    serde_json::from_str(&json).map_err(|_| unreadable(column))
}

/// The error for a column that holds something else. The parser's own can quote it.
fn unreadable(column: &'static str) -> Error {
    Error::FromSqlConversionFailure(0, Type::Text, format!("{column} is unreadable").into())
}

#[cfg(test)]
mod tests {
    use super::*;

    thread_local! {
        static OTHER: Connection = Connection::open_in_memory().expect("a database");
    }

    /// Runs statements of another process.
    fn other(statements: &str) {
        OTHER.with(|other| other.execute_batch(statements).expect("they run"));
    }

    /// Two instances of an application start at once, with a file that is not there yet.
    #[test]
    fn a_file_is_opened_while_another_process_makes_its_tables() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("sessions.sqlite");
        other(&format!("ATTACH '{}' AS file", file.display()));
        other("BEGIN IMMEDIATE; CREATE TABLE file.made (it)");
        let mut db = Connection::open(&file).expect("it opens");
        // Called where SQLite waits.
        db.busy_handler(Some(|_| {
            other("COMMIT");
            true
        }))
        .expect("it is kept");
        write_ahead(&db).expect("it waits, and then switches");
    }
}
