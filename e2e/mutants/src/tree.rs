//! A copy of the committed tree, in which a file can be changed and tests be run.

use std::io;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// The limit for one run of a suite, in seconds: a mutant may loop for ever, and a sweep
/// that changes nothing does. The whole suite takes a minute on two cores.
const TEST_SECONDS: &str = "240";

/// A checkout of `HEAD` in `target/mutants`, with a target folder of its own.
pub(crate) struct Tree {
    folder: PathBuf,
    target: PathBuf,
}

impl Tree {
    /// Checks `HEAD` out, anew if it is there already.
    ///
    /// # Errors
    ///
    /// If git refuses, or the current folder is not the top of the tree.
    pub(crate) fn copy() -> io::Result<Self> {
        let top = std::env::current_dir()?.join("target/mutants");
        std::fs::create_dir_all(&top)?;
        let folder = top.join("tree");
        match folder.exists() {
            true => {
                let head = git(&["rev-parse", "HEAD"], &std::env::current_dir()?)?;
                git(
                    &["checkout", "--quiet", "--force", "--detach", &head],
                    &folder,
                )?;
            }
            false => {
                let path = folder.to_string_lossy();
                let add = ["worktree", "add", "--quiet", "--force", "--detach", &path];
                git(&add, &std::env::current_dir()?)?;
            }
        }
        Ok(Self {
            folder,
            target: top.join("target"),
        })
    }

    pub(crate) fn read(&self, file: &str) -> io::Result<String> {
        std::fs::read_to_string(self.folder.join(file))
    }

    pub(crate) fn write(&self, file: &str, text: &str) -> io::Result<()> {
        std::fs::write(self.folder.join(file), text)
    }

    /// Whether `cargo test` with these arguments passes. A failure to compile, or to
    /// end in time, is a failure of the tests.
    pub(crate) fn test(&self, arguments: &[&str]) -> io::Result<bool> {
        let status = Command::new("timeout")
            .args(["--kill-after=10s", TEST_SECONDS])
            .args(["cargo", "test", "--locked", "--quiet"])
            .args(arguments)
            .current_dir(&self.folder)
            .env("CARGO_TARGET_DIR", &self.target)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()?;
        Ok(status.success())
    }
}

fn git(arguments: &[&str], folder: &std::path::Path) -> io::Result<String> {
    let output = Command::new("git")
        .args(arguments)
        .current_dir(folder)
        .stderr(Stdio::inherit())
        .output()?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned()),
        false => Err(io::Error::other(format!("git {} failed", arguments[0]))),
    }
}
