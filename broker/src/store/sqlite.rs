//! SQLite, the embedded default: a file, or memory.
//!
//! Steps in memory run [`inline`], on their caller's thread. Those that change a file
//! wait for its disk, where they must not happen twice: [`writer`] runs them in batches on a
//! thread of its own; those that only read it run inline. [`tables`] prepares the tables of
//! both.

pub(super) mod executor;

mod inline;
mod tables;
mod writer;

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use parking_lot::Mutex;
use rusqlite::Connection;

use super::fail_points::FailPoints;
use super::outcome::{StoreError, check_version};
use crate::clock::Stopwatch;
use inline::Inline;
use writer::{Durable, Writer};

/// The embedded store.
pub(super) struct Sqlite(Connections);

enum Connections {
    Memory(Inline),
    /// The reader is closed first: the last connection to close empties the write-ahead
    /// log, which only the writer can.
    File {
        reader: Inline,
        writer: Writer,
        readiness: Readiness,
    },
}

impl Sqlite {
    /// A store that is gone with the process.
    ///
    /// # Errors
    ///
    /// If SQLite reports an error.
    pub(super) fn in_memory(fail_points: FailPoints) -> Result<Self, StoreError> {
        let mut connection = Connection::open_in_memory()?;
        tables::prepare(&mut connection)?;
        Ok(Self(Connections::Memory(Inline::new(
            connection,
            fail_points,
        ))))
    }

    /// The store in the file at `path`, which is made if it does not exist.
    ///
    /// # Errors
    ///
    /// If the file cannot be opened, written or understood.
    pub(super) fn at(path: &Path, fail_points: FailPoints) -> Result<Self, StoreError> {
        make_private(path);
        let writer = Writer::start(Connection::open(path)?, fail_points.clone())?;
        let reader = Connection::open(path)?;
        tables::prepare_reader(&reader)?;
        let reader = Inline::new(reader, fail_points);
        let readiness =
            Readiness::of(path).map_err(|error| StoreError::Failed(error.to_string()))?;
        Ok(Self(Connections::File {
            reader,
            writer,
            readiness,
        }))
    }

    /// Checks that the tables are ours, and that a file can be written.
    pub(super) async fn ready(&self) -> Result<(), StoreError> {
        check_version(match &self.0 {
            Connections::Memory(connection) => connection.read(tables::version)?,
            Connections::File {
                writer, readiness, ..
            } => {
                readiness.check_path()?;
                if readiness.is_write_due() {
                    let version = writer.run(Durable::First, tables::write_version).await?;
                    readiness.note_write();
                    version
                } else {
                    writer.run(Durable::Soon, tables::version).await?
                }
            }
        })
    }

    /// Runs a step that changes nothing.
    pub(super) async fn read<T>(
        &self,
        step: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        match &self.0 {
            Connections::Memory(connection) => connection.read(step),
            Connections::File { reader, .. } => reader.read(step),
        }
    }

    /// Runs a step, and returns its result once that is committed and on disk.
    pub(super) async fn commit<T, F>(&self, step: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: Fn(&Connection) -> rusqlite::Result<T> + Send + 'static,
    {
        self.write(Durable::First, step).await
    }

    /// Runs a step, and returns its result once that is committed. It is on disk a moment
    /// later: a power cut until then takes it back.
    pub(super) async fn commit_early<T, F>(&self, step: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: Fn(&Connection) -> rusqlite::Result<T> + Send + 'static,
    {
        self.write(Durable::Soon, step).await
    }

    async fn write<T, F>(&self, durable: Durable, step: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: Fn(&Connection) -> rusqlite::Result<T> + Send + 'static,
    {
        match &self.0 {
            Connections::Memory(connection) => connection.commit(step),
            Connections::File { writer, .. } => writer.run(durable, step).await,
        }
    }
}

/// Makes a new database readable by its owner alone: it will hold profiles. If
/// that fails, opening it says why.
fn make_private(path: &Path) {
    let _ = OpenOptions::new()
        .create(true)
        .append(true)
        .mode(0o600)
        .open(path);
}

/// A write waits for the disk, and anyone may ask whether a broker is ready.
const WRITE_EVERY: Duration = Duration::from_secs(3);

/// The readiness of a database in a file, that it takes steps and their results last: the
/// file as it was opened, and its last write.
#[derive(Debug)]
struct Readiness {
    path: PathBuf,
    /// Device and inode.
    opened: (u64, u64),
    written: Mutex<Option<Stopwatch>>,
}

impl Readiness {
    /// The readiness of the file at `path`, which has just been opened.
    fn of(path: &Path) -> io::Result<Self> {
        Ok(Self {
            path: path.to_owned(),
            opened: device_and_inode(path)?,
            written: Mutex::default(),
        })
    }

    /// Checks that the open file is still the one at its path. The steps of another file,
    /// or of one that was removed, are lost at the next start.
    fn check_path(&self) -> Result<(), StoreError> {
        match device_and_inode(&self.path) {
            Ok(found) if found == self.opened => Ok(()),
            _ => Err(StoreError::Failed(
                "the database was moved, removed or replaced while this broker had it open; \
                 put it back, or restart the broker"
                    .to_owned(),
            )),
        }
    }

    /// Whether the last write is long enough ago.
    fn is_write_due(&self) -> bool {
        !matches!(&*self.written.lock(), Some(since) if since.elapsed() < WRITE_EVERY)
    }

    /// Keeps in mind that a write has succeeded now.
    fn note_write(&self) {
        *self.written.lock() = Some(Stopwatch::start());
    }
}

fn device_and_inode(path: &Path) -> io::Result<(u64, u64)> {
    fs::metadata(path).map(|file| (file.dev(), file.ino()))
}
