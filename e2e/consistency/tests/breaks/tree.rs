//! A copy of the tree in `target`, with a target directory of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::Edit;

/// Held by the test that uses the copy.
static COPY: Mutex<()> = Mutex::new(());

/// The copy with some edits, compiled.
pub(crate) struct Tree {
    _alone: MutexGuard<'static, ()>,
}

impl Tree {
    /// The tree as it is, apart from `edits`.
    #[track_caller]
    pub(crate) fn with(edits: &[Edit]) -> Self {
        let alone = COPY.lock().unwrap_or_else(PoisonError::into_inner);
        synchronize();
        for edit in edits {
            edit.apply();
        }
        compile();
        Self { _alone: alone }
    }

    /// Runs the copy's `consistency`.
    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        Command::new(target().join("debug/consistency"))
            .args(arguments)
            .stdin(Stdio::null())
            .output()
            .expect("it was compiled")
    }
}

impl Edit {
    #[track_caller]
    fn apply(&self) {
        let path = copy().join(self.file);
        let source = fs::read_to_string(&path).expect("a source");
        let occurrences = source.matches(self.old).count();
        assert_eq!(
            occurrences, 1,
            "{} in {}: the break has to follow the source",
            self.old, self.file
        );
        let broken = source.replace(self.old, self.new);
        fs::write(path, broken).expect("the copy is writable");
    }
}

/// Makes the copy equal to the tree. Files that are equal already keep their times,
/// so that only what was broken is compiled again.
fn synchronize() {
    for file in files() {
        let (from, to) = (top().join(&file), copy().join(&file));
        let Ok(wanted) = fs::read(&from) else {
            // Deleted, and not committed yet.
            let _ = fs::remove_file(to);
            continue;
        };
        if fs::read(&to).ok().as_ref() != Some(&wanted) {
            fs::create_dir_all(to.parent().expect("a folder")).expect("a folder");
            fs::write(to, wanted).expect("the copy is writable");
        }
    }
}

/// Every file that Git knows or would take.
fn files() -> Vec<PathBuf> {
    let listed = Command::new("git")
        .args([
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ])
        .current_dir(top())
        .output()
        .expect("git");
    let names = String::from_utf8(listed.stdout).expect("names in UTF-8");
    let names = names.split_terminator('\0');
    names.map(PathBuf::from).collect()
}

#[track_caller]
fn compile() {
    let status = Command::new(env!("CARGO"))
        .args(["build", "--locked", "--quiet", "-p", "consistency"])
        .arg("--target-dir")
        .arg(target())
        .current_dir(copy())
        .status()
        .expect("cargo");
    assert!(status.success(), "the broken broker does not compile");
}

fn top() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).expect("the root of the tree")
}

fn copy() -> PathBuf {
    top().join("target/checker/tree")
}

fn target() -> PathBuf {
    top().join("target/checker/target")
}
