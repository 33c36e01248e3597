//! The readiness of a database in a file: it takes steps, and their results last.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::clock::Stopwatch;
use crate::store::error::StoreError;

/// A write waits for the disk, and anyone may ask whether a broker is ready.
const WRITE_EVERY: Duration = Duration::from_secs(3);

/// The file as it was opened, and its last write.
#[derive(Debug)]
pub(super) struct Readiness {
    path: PathBuf,
    /// Device and inode.
    opened: (u64, u64),
    written: Mutex<Option<Stopwatch>>,
}

impl Readiness {
    /// The readiness of the file at `path`, which has just been opened.
    pub(super) fn of(path: &Path) -> io::Result<Self> {
        Ok(Self {
            path: path.to_owned(),
            opened: device_and_inode(path)?,
            written: Mutex::default(),
        })
    }

    /// Checks that the open file is still the one at its path. The steps of another file,
    /// or of one that was removed, are lost at the next start.
    pub(super) fn check_path(&self) -> Result<(), StoreError> {
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
    pub(super) fn is_write_due(&self) -> bool {
        let written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        !matches!(&*written, Some(since) if since.elapsed() < WRITE_EVERY)
    }

    /// Keeps in mind that a write has succeeded now.
    pub(super) fn note_write(&self) {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        *written = Some(Stopwatch::start());
    }
}

fn device_and_inode(path: &Path) -> io::Result<(u64, u64)> {
    fs::metadata(path).map(|file| (file.dev(), file.ino()))
}
