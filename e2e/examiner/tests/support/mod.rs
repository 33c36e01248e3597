//! Runs of the program `examine` in a folder of their own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use tempfile::TempDir;
use testkit::server::free_port;

/// A run to come.
#[derive(Clone)]
pub(crate) struct Examine {
    folder: Arc<TempDir>,
    init: bool,
    flags: Vec<String>,
    command: Vec<String>,
}

/// The status of a run, and its output.
pub(crate) struct Run {
    pub(crate) status: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// The command of an odd app, for a shell.
pub(crate) fn odd_app(kind: &str) -> String {
    format!("python3 {} {kind}", odd_script().display())
}

fn odd_script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/odd/app.py")
}

impl Examine {
    /// Without any argument.
    pub(crate) fn nothing() -> Self {
        Self {
            folder: Arc::new(TempDir::new().unwrap()),
            init: false,
            flags: Vec::new(),
            command: Vec::new(),
        }
    }

    /// An odd app on a free port.
    pub(crate) fn odd(kind: &str) -> Self {
        let script = odd_script().display().to_string();
        Self::command(["python3".to_owned(), script, kind.to_owned()].to_vec())
    }

    /// An app that a shell starts, on a free port.
    pub(crate) fn shell(line: &str) -> Self {
        Self::command(["sh", "-c", line].map(str::to_owned).to_vec())
    }

    fn command(command: Vec<String>) -> Self {
        let start = format!("http://localhost:{}/", free_port());
        Self {
            flags: vec![start],
            command,
            ..Self::nothing()
        }
    }

    pub(crate) fn flags(mut self, flags: &[&str]) -> Self {
        self.flags.extend(flags.iter().map(|&flag| flag.to_owned()));
        self
    }

    /// One check alone.
    pub(crate) fn only(self, id: &str) -> Self {
        self.flags(&["--only", id])
    }

    /// `examine init` for the same app.
    pub(crate) fn init(self) -> Self {
        Self { init: true, ..self }
    }

    /// `examine` in the folder of an `examine init`, by the file that it wrote.
    pub(crate) fn examine_by_file(&self, id: &str) -> Self {
        Self {
            init: false,
            flags: vec!["--only".to_owned(), id.to_owned()],
            command: Vec::new(),
            folder: self.folder.clone(),
        }
    }

    pub(crate) fn read(&self, file: &str) -> String {
        fs::read_to_string(self.folder.path().join(file)).unwrap()
    }

    pub(crate) fn run(&self) -> Run {
        let mut command = Command::new(env!("CARGO_BIN_EXE_examine"));
        command.current_dir(self.folder.path()).stdin(Stdio::null());
        if self.init {
            command.arg("init");
        }
        command.args(&self.flags);
        if !self.command.is_empty() {
            command.arg("--").args(&self.command);
        }
        let output = command.output().unwrap();
        Run {
            status: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Run {
    /// Asserts one sentence on standard error that contains `text`, and no report.
    pub(crate) fn is_trouble(&self, text: &str) {
        assert_eq!(self.status, Some(2), "{}{}", self.stdout, self.stderr);
        assert_eq!(self.stdout, "", "there is no report");
        let last = self.stderr.lines().last().unwrap_or_default();
        assert!(last.starts_with("examine: "), "{last}");
        assert!(last.contains(text), "{text:?} is not in {last}");
    }

    /// Asserts the verdict of a check in the text report.
    pub(crate) fn has_verdict(&self, id: &str, verdict: &str) {
        let is_line = |line: &&str| line.starts_with(verdict) && line.contains(id);
        let is_there = self.stdout.lines().any(|line| is_line(&line));
        assert!(is_there, "{id}: {}{}", self.stdout, self.stderr);
    }
}
