//! The log files of an app, from the point at which its examination began.

use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

/// The part of a log that is read.
const MAX_BYTES: u64 = 8 * 1024 * 1024;

/// A log file, to which the app appends.
#[derive(Debug, Clone)]
pub(crate) struct LogFile {
    pub(crate) path: PathBuf,
    /// The length that it had before.
    start: u64,
}

impl LogFile {
    /// The log at `path`, from its present end on. It may appear later.
    pub(crate) fn from_now(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            start: std::fs::metadata(path).map_or(0, |it| it.len()),
        }
    }

    /// Everything that was appended since; of a file that became shorter, everything.
    ///
    /// # Errors
    ///
    /// If it cannot be read.
    pub(crate) fn appended(&self) -> io::Result<String> {
        let mut file = std::fs::File::open(&self.path)?;
        let is_rotated = file.metadata()?.len() < self.start;
        file.seek(SeekFrom::Start(if is_rotated { 0 } else { self.start }))?;
        let mut bytes = Vec::new();
        file.take(MAX_BYTES).read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn only_what_an_app_appends_is_read() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        writeln!(file, "before").unwrap();
        let log = LogFile::from_now(file.path());
        assert_eq!(log.appended().unwrap(), "");
        writeln!(file, "after").unwrap();
        assert_eq!(log.appended().unwrap(), "after\n");
        file.as_file().set_len(2).unwrap();
        assert_eq!(log.appended().unwrap(), "be");
    }

    #[test]
    fn a_log_that_never_appears_cannot_be_read() {
        let log = LogFile::from_now(Path::new("/nowhere/app.log"));
        assert!(log.appended().is_err());
    }
}
