//! One thread that owns the connection and commits in groups.
//!
//! It takes whatever waits in its queue, up to [`BATCH`] steps, runs them in one
//! `BEGIN IMMEDIATE` transaction, commits, and only then lets any of them
//! answer. With `synchronous=FULL` a commit costs one write to disk however many
//! steps share it. If a step fails, the group is rolled back and each is run by
//! itself, so that nobody pays for a stranger's step; if the commit fails, every
//! caller is told so. Nobody hears of what did not last.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rusqlite::{Connection, Result, Transaction};
use tokio::sync::oneshot;

use super::tables::{self, begin};
use crate::store::StoreError;
use crate::store::fail_points::{FailPoint, FailPoints};

/// How many steps share one commit at most.
const BATCH: usize = 256;

/// After this long without a step the write-ahead log is emptied. Under load
/// SQLite does it by itself, and better than we could.
const IDLE: Duration = Duration::from_secs(5);

/// The way to the writing thread. Dropped, it waits until the database is closed,
/// which also empties the write-ahead log.
#[derive(Debug)]
pub(super) struct Writer {
    queue: Option<Sender<Box<dyn Step>>>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Writer {
    fn drop(&mut self) {
        // Without senders the thread comes to its end.
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
            .spawn(move || write(&mut connection, &receiver, &fail_points))
            .expect("the operating system starts a thread");
        Ok(Self {
            queue: Some(queue),
            thread: Some(thread),
        })
    }

    /// Runs `step` and returns what it returned, once that is committed.
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

/// One caller's step, its type forgotten so that many fit one queue.
trait Step: Send {
    /// Runs it, once more if need be, and keeps what it returned.
    fn run(&mut self, db: &Connection, fail_points: &FailPoints) -> Result<()>;

    /// Tells the caller what became of it.
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
        // A step that panics must not take the store with it.
        let outcome = catch_unwind(AssertUnwindSafe(|| (self.step)(db)));
        self.result = Some(outcome.unwrap_or(Err(rusqlite::Error::UnwindingPanic))?);
        fail_points.reached(FailPoint::AfterRead);
        Ok(())
    }

    fn answer(self: Box<Self>, committed: std::result::Result<(), StoreError>) {
        let Self { result, reply, .. } = *self;
        let answer = committed.map(|()| result.expect("what was committed has run"));
        // A caller that has gone away needs no answer; its step stands.
        let _ = reply.send(answer);
    }
}

/// What a group came to.
enum Group {
    /// All of it stands.
    Committed,
    /// A step failed, and nothing happened.
    Spoilt,
    /// The database failed, and nothing happened.
    Failed(StoreError),
}

fn write(connection: &mut Connection, queue: &Receiver<Box<dyn Step>>, fail_points: &FailPoints) {
    let mut is_logged = false;
    loop {
        match queue.recv_timeout(IDLE) {
            Ok(first) => {
                take_turn(connection, first, queue, fail_points);
                is_logged = true;
            }
            Err(RecvTimeoutError::Timeout) if is_logged => {
                empty_log(connection);
                is_logged = false;
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

/// Moves what the write-ahead log holds into the file, where what was erased is
/// overwritten. Another process may be reading; then it is for the next time.
fn empty_log(connection: &Connection) {
    let _ = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
}

fn take_turn(
    connection: &mut Connection,
    first: Box<dyn Step>,
    queue: &Receiver<Box<dyn Step>>,
    fail_points: &FailPoints,
) {
    let mut batch: Vec<_> = std::iter::once(first)
        .chain(queue.try_iter().take(BATCH - 1))
        .collect();
    match commit(connection, &mut batch, fail_points) {
        Group::Committed => answer_all(batch, &Ok(())),
        Group::Failed(error) => answer_all(batch, &Err(error)),
        Group::Spoilt => {
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

fn commit(
    connection: &mut Connection,
    batch: &mut [Box<dyn Step>],
    fail_points: &FailPoints,
) -> Group {
    let transaction = match begin(connection) {
        Ok(transaction) => transaction,
        Err(error) => return Group::Failed(error.into()),
    };
    // Dropped without a commit, a transaction is rolled back.
    let run = |step: &mut Box<dyn Step>| step.run(&transaction, fail_points);
    if batch.iter_mut().any(|step| run(step).is_err()) {
        return Group::Spoilt;
    }
    match conclude(transaction, fail_points) {
        Ok(()) => Group::Committed,
        Err(error) => Group::Failed(error.into()),
    }
}

fn commit_alone(
    connection: &mut Connection,
    step: &mut dyn Step,
    fail_points: &FailPoints,
) -> Result<()> {
    let transaction = begin(connection)?;
    step.run(&transaction, fail_points)?;
    conclude(transaction, fail_points)
}

fn conclude(transaction: Transaction<'_>, fail_points: &FailPoints) -> Result<()> {
    fail_points.reached(FailPoint::BeforeCommit);
    transaction.commit()?;
    fail_points.reached(FailPoint::AfterCommit);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A connection that is the opposite of durable in everything: SQLite's own
    /// defaults would hide a setting that is missing.
    fn careless(path: &std::path::Path) -> Connection {
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
        let connection = careless(&folder.path().join("broker.db"));
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
