//! One thread that owns the connection and commits in groups.
//!
//! It takes the steps that wait in its queue, up to [`BATCH`], runs them in one
//! `BEGIN IMMEDIATE` transaction, commits, and only then answers their callers. With
//! `synchronous=FULL` a commit costs one write to disk however many steps share it.
//! If a step fails, the group is rolled back and each step runs alone, so that one
//! caller's error never fails another's step; if the commit fails, every caller gets
//! the error. No caller gets a result that was not committed.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rusqlite::{Connection, Result};
use tokio::sync::oneshot;

use super::inline::catch_panic;
use super::tables::{self, Transaction};
use crate::store::fail_points::{FailPoint, FailPoints};
use crate::store::outcome::StoreError;

/// The most steps that share one commit.
const BATCH: usize = 256;

/// The idle time after which the write-ahead log is emptied. Under load SQLite does
/// that by itself, and better than we could.
const IDLE: Duration = Duration::from_secs(5);

/// A handle to the writing thread. Dropping it waits until the database is closed,
/// which also empties the write-ahead log.
#[derive(Debug)]
pub(super) struct Writer {
    queue: Option<Sender<Box<dyn Step>>>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Writer {
    fn drop(&mut self) {
        // Without senders the thread ends.
        drop(self.queue.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Writer {
    /// Starts the thread that owns `connection` from now on.
    pub(super) fn start(
        mut connection: Connection,
        fail_points: FailPoints,
    ) -> std::result::Result<Self, StoreError> {
        tables::prepare(&mut connection)?;
        let (queue, receiver) = channel();
        let thread = thread::Builder::new()
            .name("sqlite".to_owned())
            .spawn(move || write(&connection, &receiver, &fail_points))
            .expect("the operating system starts a thread");
        Ok(Self {
            queue: Some(queue),
            thread: Some(thread),
        })
    }

    /// Runs `step` and returns its result once that is committed.
    pub(super) async fn run<T, F>(&self, step: F) -> std::result::Result<T, StoreError>
    where
        T: Send + 'static,
        F: Fn(&Connection) -> Result<T> + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        let task = Task {
            step,
            result: None,
            reply,
        };
        let queue = self.queue.as_ref().ok_or(StoreError::Stopped)?;
        queue
            .send(Box::new(task))
            .map_err(|_| StoreError::Stopped)?;
        answer.await.map_err(|_| StoreError::Stopped)?
    }
}

/// One caller's step, with its type erased so that all fit one queue.
trait Step: Send {
    /// Runs the step and keeps its result. May be called again after a rollback.
    fn run(&mut self, db: &Connection, fail_points: &FailPoints) -> Result<()>;

    /// Answers the caller.
    fn answer(self: Box<Self>, committed: std::result::Result<(), StoreError>);
}

struct Task<F, T> {
    step: F,
    result: Option<T>,
    reply: oneshot::Sender<std::result::Result<T, StoreError>>,
}

impl<F, T> Step for Task<F, T>
where
    F: Fn(&Connection) -> Result<T> + Send,
    T: Send,
{
    fn run(&mut self, db: &Connection, fail_points: &FailPoints) -> Result<()> {
        self.result = Some(catch_panic(|| (self.step)(db))?);
        fail_points.hit(FailPoint::AfterRead);
        Ok(())
    }

    fn answer(self: Box<Self>, committed: std::result::Result<(), StoreError>) {
        let Self { result, reply, .. } = *self;
        let answer = committed.map(|()| result.expect("what was committed has run"));
        // A caller that has gone away needs no answer; its step stays committed.
        let _ = reply.send(answer);
    }
}

/// The result of a group of steps.
enum Group {
    /// All steps are committed.
    Committed,
    /// A step failed, and the group was rolled back.
    StepFailed,
    /// The database failed, and nothing was committed.
    Failed(StoreError),
}

fn write(connection: &Connection, queue: &Receiver<Box<dyn Step>>, fail_points: &FailPoints) {
    let mut has_written = false;
    loop {
        match queue.recv_timeout(IDLE) {
            Ok(first) => {
                run_batch(connection, first, queue, fail_points);
                has_written = true;
            }
            Err(RecvTimeoutError::Timeout) if has_written => {
                empty_log(connection);
                has_written = false;
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

/// Moves the write-ahead log into the file, where erased values are overwritten.
/// While another process reads, this fails and the next idle time tries again.
fn empty_log(connection: &Connection) {
    let _ = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
}

fn run_batch(
    connection: &Connection,
    first: Box<dyn Step>,
    queue: &Receiver<Box<dyn Step>>,
    fail_points: &FailPoints,
) {
    // Callers that are about to send a step get the chance to: with 64 of them a login
    // costs a sixth less, because more steps share a commit.
    thread::yield_now();
    let mut batch: Vec<_> = std::iter::once(first)
        .chain(queue.try_iter().take(BATCH - 1))
        .collect();
    match commit(connection, &mut batch, fail_points) {
        Group::Committed => answer_all(batch, &Ok(())),
        Group::Failed(error) => answer_all(batch, &Err(error)),
        Group::StepFailed => {
            for mut step in batch {
                let committed = commit_alone(connection, &mut *step, fail_points);
                step.answer(committed.map_err(StoreError::from));
            }
        }
    }
}

fn answer_all(batch: Vec<Box<dyn Step>>, committed: &std::result::Result<(), StoreError>) {
    for step in batch {
        step.answer(committed.clone());
    }
}

fn commit(connection: &Connection, batch: &mut [Box<dyn Step>], fail_points: &FailPoints) -> Group {
    let transaction = match Transaction::begin(connection) {
        Ok(transaction) => transaction,
        Err(error) => return Group::Failed(error.into()),
    };
    let run = |step: &mut Box<dyn Step>| step.run(connection, fail_points);
    if batch.iter_mut().any(|step| run(step).is_err()) {
        return Group::StepFailed;
    }
    match transaction.commit(fail_points) {
        Ok(()) => Group::Committed,
        Err(error) => Group::Failed(error.into()),
    }
}

fn commit_alone(
    connection: &Connection,
    step: &mut dyn Step,
    fail_points: &FailPoints,
) -> Result<()> {
    let transaction = Transaction::begin(connection)?;
    step.run(connection, fail_points)?;
    transaction.commit(fail_points)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A connection that is durable in nothing: SQLite's own defaults would hide a
    /// setting that is missing.
    fn not_durable(path: &std::path::Path) -> Connection {
        let connection = Connection::open(path).unwrap();
        connection.busy_timeout(Duration::ZERO).unwrap();
        for (name, value) in [
            ("journal_mode", "off"),
            ("synchronous", "off"),
            ("secure_delete", "off"),
        ] {
            connection.pragma_update(None, name, value).unwrap();
        }
        connection
    }

    #[tokio::test]
    async fn the_connection_that_writes_is_durable_whatever_it_was_before() {
        let folder = tempfile::tempdir().unwrap();
        let connection = not_durable(&folder.path().join("broker.db"));
        let writer = Writer::start(connection, FailPoints::NONE).unwrap();
        let number = async |pragma: &'static str| -> i64 {
            writer
                .run(move |db| db.pragma_query_value(None, pragma, |row| row.get(0)))
                .await
                .unwrap()
        };
        assert_eq!(number("synchronous").await, 2, "FULL");
        assert_eq!(number("secure_delete").await, 1);
        assert_eq!(number("busy_timeout").await, 5_000);
        let journal: String = writer
            .run(|db| db.pragma_query_value(None, "journal_mode", |row| row.get(0)))
            .await
            .unwrap();
        assert_eq!(journal, "wal");
    }
}
