//! The log files of an app, from the point at which its examination began.

use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

/// The part of a log that is read: its end, for the logins of a check are there.
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

    /// The last 8 MiB of what was appended since; of a file that became shorter, of all.
    ///
    /// # Errors
    ///
    /// If it cannot be read.
    pub(crate) fn appended(&self) -> io::Result<String> {
        let mut file = std::fs::File::open(&self.path)?;
        let length = file.metadata()?.len();
        let start = if length < self.start { 0 } else { self.start };
        let start = start.max(length.saturating_sub(MAX_BYTES));
        file.seek(SeekFrom::Start(start))?;
        let mut bytes = Vec::new();
        file.take(length - start).read_to_end(&mut bytes)?;
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
    fn of_a_long_log_the_end_is_read() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let log = LogFile::from_now(file.path());
        let far = file.as_file().set_len(MAX_BYTES);
        far.unwrap();
        file.seek(SeekFrom::End(0)).unwrap();
        write!(file, "the last login").unwrap();
        let appended = log.appended().unwrap();
        assert_eq!(appended.len() as u64, MAX_BYTES);
        assert!(appended.ends_with("the last login"));
    }

    #[test]
    fn a_log_that_never_appears_cannot_be_read() {
        let log = LogFile::from_now(Path::new("/nowhere/app.log"));
        assert!(log.appended().is_err());
    }
}
