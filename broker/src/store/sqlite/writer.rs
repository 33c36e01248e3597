//! One thread that owns the connection and commits in groups.
//!
//! It takes the steps that wait in its queue, up to [`BATCH`], runs them in one
//! `BEGIN IMMEDIATE` transaction, commits, and only then answers their callers. A commit waits
//! for the disk once however many steps share it, and not at all if each of them may be on
//! disk [`Soon`](Durable::Soon): then the next one that waits brings them along.
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
use crate::clock::Stopwatch;
use crate::store::fail_points::{FailPoint, FailPoints};
use crate::store::outcome::StoreError;

/// The most steps that share one commit.
const BATCH: usize = 256;

/// The steps of a batch that need not wait for the disk. A larger one does: meanwhile more steps
/// gather, which share the next commit, and with 64 callers a login costs a third less.
const FEW: usize = 2;

/// The idle time after which the write-ahead log is emptied. Under load SQLite does
/// that by itself, and better than we could.
const IDLE: Duration = Duration::from_secs(5);

/// The time by which a commit is on disk that did not wait for it.
const SOON: Duration = Duration::from_millis(50);

/// The time by which a committed step is on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Durable {
    /// Soon after its caller has the result: a power cut until then takes it back, and a login
    /// that is under way begins again.
    Soon,
    /// Before its caller has the result: taken back, it could happen twice.
    First,
}

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
            .spawn(move || WritingThread::new(connection, fail_points).serve(&receiver))
            .expect("the operating system starts a thread");
        Ok(Self {
            queue: Some(queue),
            thread: Some(thread),
        })
    }

    /// Runs `step` and returns its result once that is committed, and as durable as asked.
    pub(super) async fn run<T, F>(
        &self,
        durable: Durable,
        step: F,
    ) -> std::result::Result<T, StoreError>
    where
        T: Send + 'static,
        F: Fn(&Connection) -> Result<T> + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        let task = Task {
            step,
            durable,
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

    fn durable(&self) -> Durable;

    /// Answers the caller.
    fn answer(self: Box<Self>, committed: std::result::Result<(), StoreError>);
}

struct Task<F, T> {
    step: F,
    durable: Durable,
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

    fn durable(&self) -> Durable {
        self.durable
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

/// The thread's connection, and what it has committed.
struct WritingThread {
    connection: Connection,
    fail_points: FailPoints,
    /// The setting of the connection: its commits wait for the disk, or not.
    durable: Durable,
    /// Started by the first commit that may not be on disk.
    unsynced: Option<Stopwatch>,
    /// Whether there is something in the write-ahead log.
    has_log: bool,
}

impl WritingThread {
    /// The thread of a connection that [`tables`] has prepared.
    fn new(connection: Connection, fail_points: FailPoints) -> Self {
        Self {
            connection,
            fail_points,
            durable: Durable::First,
            unsynced: None,
            has_log: false,
        }
    }

    fn serve(mut self, queue: &Receiver<Box<dyn Step>>) {
        loop {
            let since = self.unsynced.as_ref().map(Stopwatch::elapsed);
            let patience = since.map_or(IDLE, |since| SOON.saturating_sub(since));
            match queue.recv_timeout(patience) {
                Ok(first) => self.run_batch(first, queue),
                Err(RecvTimeoutError::Timeout) if self.unsynced.is_some() => self.sync(),
                Err(RecvTimeoutError::Timeout) if self.has_log => self.empty_log(),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    /// Brings to disk what did not wait for it. If that fails, it is tried again.
    fn sync(&mut self) {
        let write = |db: &Connection, _: &FailPoints| tables::write_version(db);
        // It is no step: it passes no fail point.
        let fail_points = std::mem::take(&mut self.fail_points);
        let synced = self.commit(Durable::First, write);
        self.fail_points = fail_points;
        self.unsynced = synced.is_err().then(Stopwatch::start);
    }

    /// Moves the write-ahead log into the file, where erased values are overwritten.
    /// While another process reads, this fails and the next idle time tries again.
    fn empty_log(&mut self) {
        let checkpoint = "PRAGMA wal_checkpoint(TRUNCATE)";
        let _ = self.connection.query_row(checkpoint, [], |_| Ok(()));
        self.has_log = false;
    }

    fn run_batch(&mut self, first: Box<dyn Step>, queue: &Receiver<Box<dyn Step>>) {
        // Callers that are about to send a step can do so first: with 64 of them a login
        // costs a sixth less, because more steps share a commit.
        thread::yield_now();
        let mut batch: Vec<_> = std::iter::once(first)
            .chain(queue.try_iter().take(BATCH - 1))
            .collect();
        match self.commit_group(&mut batch) {
            Group::Committed => answer_all(batch, &Ok(())),
            Group::Failed(error) => answer_all(batch, &Err(error)),
            Group::StepFailed => {
                for mut step in batch {
                    let alone = self.commit(step.durable(), |db, points| step.run(db, points));
                    step.answer(alone.map_err(StoreError::from));
                }
            }
        }
    }

    fn commit_group(&mut self, batch: &mut [Box<dyn Step>]) -> Group {
        let durable = match batch.len() {
            ..=FEW => batch.iter().map(|step| step.durable()).max(),
            _ => None,
        };
        let mut has_run = true;
        let committed = self.commit(durable.unwrap_or(Durable::First), |db, fail_points| {
            has_run = false;
            batch
                .iter_mut()
                .try_for_each(|step| step.run(db, fail_points))?;
            has_run = true;
            Ok(())
        });
        match committed {
            Ok(()) => Group::Committed,
            Err(error) if has_run => Group::Failed(error.into()),
            Err(_) => Group::StepFailed,
        }
    }

    /// Runs `steps` in one transaction, and commits it.
    fn commit<T>(
        &mut self,
        durable: Durable,
        steps: impl FnOnce(&Connection, &FailPoints) -> Result<T>,
    ) -> Result<T> {
        if durable != self.durable {
            tables::wait_for_disk(&self.connection, durable == Durable::First)?;
            self.durable = durable;
        }
        let before = self.connection.total_changes();
        let transaction = Transaction::begin(&self.connection)?;
        let result = steps(&self.connection, &self.fail_points)?;
        self.has_log = true;
        transaction.commit(&self.fail_points)?;
        let has_changed = self.connection.total_changes() > before;
        match durable {
            // With it, all that is in the log is on disk.
            Durable::First if has_changed => self.unsynced = None,
            Durable::Soon if has_changed => {
                self.unsynced.get_or_insert_with(Stopwatch::start);
            }
            _ => {}
        }
        Ok(result)
    }
}

fn answer_all(batch: Vec<Box<dyn Step>>, committed: &std::result::Result<(), StoreError>) {
    for step in batch {
        step.answer(committed.clone());
    }
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
            ("fullfsync", "off"),
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
                .run(Durable::First, move |db| {
                    db.pragma_query_value(None, pragma, |row| row.get(0))
                })
                .await
                .unwrap()
        };
        assert_eq!(number("synchronous").await, 2, "FULL");
        assert_eq!(number("fullfsync").await, 1);
        assert_eq!(number("secure_delete").await, 1);
        assert_eq!(number("busy_timeout").await, 5_000);
        let journal: String = writer
            .run(Durable::First, |db| {
                db.pragma_query_value(None, "journal_mode", |row| row.get(0))
            })
            .await
            .unwrap();
        assert_eq!(journal, "wal");
    }
}
