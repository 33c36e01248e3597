//! The programs that are measured: those beside this one, and a broker of an earlier
//! commit.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::Args;

use crate::error::BenchError;

/// The programs as the command line names them.
#[derive(Debug, Args)]
pub(crate) struct ProgramArgs {
    /// The broker to measure [default: the one beside this program]
    #[arg(long, value_name = "PROGRAM")]
    broker: Option<PathBuf>,
    /// The stack to measure [default: the one beside this program]
    #[arg(long, value_name = "PROGRAM")]
    stack: Option<PathBuf>,
    /// Also measure the broker of this commit, in the same rounds; it is built in
    /// target/bench when it is first needed
    #[arg(long, value_name = "COMMIT")]
    against: Option<String>,
}

/// Existing programs.
#[derive(Debug)]
pub(crate) struct Programs {
    pub(crate) broker: PathBuf,
    pub(crate) stack: PathBuf,
    /// An earlier broker.
    pub(crate) before: Option<PathBuf>,
    /// This program.
    pub(crate) bench: PathBuf,
}

impl ProgramArgs {
    /// Finds the programs, and builds the earlier broker.
    pub(crate) fn find(self, with_stack: bool) -> Result<Programs, BenchError> {
        let bench = std::env::current_exe()?;
        let broker = self
            .broker
            .unwrap_or_else(|| bench.with_file_name("broker"));
        let stack = self.stack.unwrap_or_else(|| bench.with_file_name("stack"));
        check_exists(&broker, "--broker")?;
        if with_stack {
            check_exists(&stack, "--stack")?;
        }
        let before = self.against.map(|commit| build_broker_of(&commit));
        Ok(Programs {
            broker,
            stack,
            before: before.transpose()?,
            bench,
        })
    }
}

/// The top of the source tree that this program was built from.
pub(crate) fn top_of_tree() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn check_exists(path: &Path, flag: &'static str) -> Result<(), BenchError> {
    match path.is_file() {
        true => Ok(()),
        false => Err(BenchError::NoProgram {
            path: path.to_owned(),
            flag,
        }),
    }
}

/// Builds the broker of a commit in a worktree of its own. The worktree and its target
/// folder stay, so that the next commit compiles less, and so does each broker.
fn build_broker_of(commit: &str) -> Result<PathBuf, BenchError> {
    let error = |reason: &str| BenchError::because(format!("--against {commit}: {reason}"));
    let folder = top_of_tree().join("target/bench");
    fs::create_dir_all(&folder)?;
    let folder = folder.canonicalize()?;
    let (tree, target) = (folder.join("tree"), folder.join("target"));
    let id = commit_id(commit)?
        .ok_or_else(|| error("there is no such commit; `git log --oneline` lists them"))?;
    let broker = folder.join(format!("broker-{id}"));
    if broker.is_file() {
        return Ok(broker);
    }
    if !check_out(&id, &tree)? {
        let reason = format!("git cannot check it out in {}", tree.display());
        return Err(error(&reason));
    }
    let mut build = Command::new("cargo");
    let build = build.args(["build", "--locked", "--release", "-p", "broker"]);
    let build = build.arg("--target-dir").arg(&target).current_dir(&tree);
    if !build.status()?.success() {
        return Err(error("its broker does not compile; name a later one"));
    }
    fs::copy(target.join("release/broker"), &broker)?;
    Ok(broker)
}

/// The full id of a commit; none if there is no such commit.
fn commit_id(commit: &str) -> io::Result<Option<String>> {
    let name = format!("{commit}^{{commit}}");
    let mut git = git(&top_of_tree());
    let git = git.args(["rev-parse", "--verify", "--quiet", "--end-of-options"]);
    let output = git.arg(name).output()?;
    let id = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    Ok(output.status.success().then_some(id))
}

/// Whether git could check the commit out in `tree`.
fn check_out(id: &str, tree: &Path) -> io::Result<bool> {
    let mut command = match tree.is_dir() {
        true => {
            let mut command = git(tree);
            command.args(["checkout", "--quiet", "--detach", id]);
            command
        }
        false => {
            let mut command = git(&top_of_tree());
            // `--force`: an earlier one was removed without a word to git.
            command.args(["worktree", "add", "--quiet", "--force", "--detach"]);
            command.arg(tree).arg(id);
            command
        }
    };
    let status = command.stdout(Stdio::null()).status()?;
    Ok(status.success())
}

fn git(folder: &Path) -> Command {
    let mut command = Command::new("git");
    command.arg("-C").arg(folder);
    command
}
