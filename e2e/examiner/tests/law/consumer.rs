//! The good consumers, and copies of them, as they are or with a fault.
//!
//! The faulty builds of the demo are one crate of a copy of the workspace, built in the
//! workspace's own target: with the same features as the tests, so that every dependency is the
//! one that is compiled already. It is given one fault after another and compiled incrementally,
//! which costs a third of a crate for each.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{LazyLock, Mutex};

use agent::tree::{self, Edit, FileTimes};
use examiner::catalogue::rows;
use examiner::fault::Fault;
use examiner::share::Share;
use serde::Deserialize;
use tempfile::TempDir;

use crate::setting;

/// A good consumer, as `e2e/consumers/consumers.toml` explains it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Consumer {
    id: String,
    pub(crate) name: String,
    sources: String,
    needs: Option<Needs>,
    #[serde(default)]
    build: String,
    run: String,
}

/// The needs of a consumer that `just` does not install.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Needs {
    packages: String,
    probe: String,
}

static CONSUMERS: LazyLock<Vec<Consumer>> =
    LazyLock::new(|| rows(include_str!("../../../consumers/consumers.toml")));

impl Consumer {
    pub(crate) fn named(id: &str) -> &'static Self {
        let mut consumers = CONSUMERS.iter();
        let consumer = consumers.find(|it| it.id == id);
        consumer.unwrap_or_else(|| panic!("there is no consumer {id}"))
    }

    /// The consumer, if its language is installed; if not, a line says so. With `ALL_LANGUAGES`
    /// in the environment every one must be.
    pub(crate) fn installed(id: &str) -> Option<&'static Self> {
        let consumer = Self::named(id);
        let Some(Needs { packages, probe }) = &consumer.needs else {
            return Some(consumer);
        };
        let name = &consumer.name;
        let probed = shell(probe, &top()).output();
        if probed.is_ok_and(|it| it.status.success()) {
            return Some(consumer);
        }
        assert!(
            setting("ALL_LANGUAGES").is_none(),
            "{name} needs {packages}"
        );
        // Not by `eprintln!`, which a test that passes keeps to itself.
        let line = format!("The consumer in {name} is left out: it needs {packages}.\n");
        let _ = std::io::stderr().write_all(line.as_bytes());
        None
    }

    /// Whether it is examined in Chromium, too: always, if `just` installs what it needs or if
    /// `ALL_LANGUAGES` is in the environment, else at every fourth commit.
    pub(crate) fn has_turn(&self, commits: usize) -> bool {
        let others: Vec<_> = CONSUMERS.iter().filter(|it| it.needs.is_some()).collect();
        let place = others.iter().position(|it| it.id == self.id);
        place.is_none_or(|place| commits % others.len() == place)
            || setting("ALL_LANGUAGES").is_some()
    }

    /// The least number of its faults.
    pub(crate) fn least_faults(&self) -> usize {
        self.needs.as_ref().map_or(15, |_| 8)
    }

    /// Builds a copy in `folder`, with these changes, and returns the command that starts it.
    fn build(&self, edits: &[Edit], folder: &Path) -> String {
        let sources = top().join(&self.sources);
        copy_tree(&sources, folder, edits, FileTimes::New);
        let filled = |command: &str| {
            let filled = command.replace("{top}", text(&top()));
            let filled = filled.replace("{programs}", text(programs()));
            let filled = filled.replace("{sources}", text(&sources));
            filled.replace("{folder}", text(folder))
        };
        let built = shell(&filled(&self.build), folder).status();
        let is_built = built.expect("there is a shell").success();
        assert!(is_built, "{} is not built", self.name);
        filled(&self.run)
    }
}

/// A command of the table.
fn shell(script: &str, folder: &Path) -> Command {
    let mut shell = Command::new("sh");
    shell
        .args(["-c", script])
        .current_dir(folder)
        .stdin(Stdio::null());
    shell
}

/// The way in which the instances of every consumer share their sessions.
pub(crate) fn share() -> Share {
    let database = ["SESSIONS_DB", "{folder}/sessions.sqlite"].map(str::to_owned);
    Share {
        env: [database.into()].into(),
        ..Share::default()
    }
}

/// A consumer that can be started, in a folder of its own.
pub(crate) struct Copy {
    pub(crate) name: String,
    pub(crate) command: Vec<String>,
    _folder: TempDir,
}

impl Copy {
    /// The consumer as it is.
    pub(crate) fn good(consumer: &Consumer) -> Self {
        Self::new(&consumer.name, |folder| consumer.build(&[], folder))
    }

    /// The consumer with a fault.
    pub(crate) async fn with_fault(fault: &Fault) -> Self {
        let consumer = Consumer::named(&fault.consumer);
        if consumer.id != "rust" {
            return Self::with_edits(consumer, &fault.id, &fault.edit);
        }
        let of_compiler = fault.clone();
        let program = tokio::task::spawn_blocking(move || faulty_demo(&of_compiler)).await;
        let program = program.expect("the build ends");
        Self::new(&fault.id, |_| text(&program).to_owned())
    }

    /// The consumer with these changes.
    pub(crate) fn with_edits(consumer: &Consumer, name: &str, edits: &[Edit]) -> Self {
        Self::new(name, |folder| consumer.build(edits, folder))
    }

    /// `built` makes it in its folder, and returns its command.
    fn new(name: &str, built: impl FnOnce(&Path) -> String) -> Self {
        let folder = TempDir::new().expect("a temporary folder can be made");
        let run = built(folder.path());
        // A slow broker is waited for to the end of this time. The default of a database is a
        // temporary file.
        let run = format!("env CALL_SECONDS=8 TMPDIR={} {run}", text(folder.path()));
        Self {
            name: name.to_owned(),
            command: run.split(' ').map(str::to_owned).collect(),
            _folder: folder,
        }
    }
}

/// Makes `to` equal to a folder of the tree, apart from `edits`.
fn copy_tree(from: &Path, to: &Path, edits: &[Edit], times: FileTimes) {
    tree::copy(from, to, edits, times)
        .unwrap_or_else(|error| panic!("{}: {error}", from.display()));
}

fn text(path: &Path) -> &str {
    path.to_str().expect("the path is text")
}

/// The folder of the programs.
pub(crate) fn programs() -> &'static Path {
    let program = Path::new(env!("CARGO_BIN_EXE_examine"));
    program.parent().expect("a program is in a folder")
}

/// The top of the tree.
pub(crate) fn top() -> PathBuf {
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    crate_folder
        .ancestors()
        .nth(2)
        .expect("the crate is two folders below the top")
        .to_owned()
}

/// The variables in which cargo describes its own crate to a test. The build script of ring reads
/// them as well: ring, and all that rests on it, would be compiled again.
const OF_ONE_CRATE: [&str; 6] = [
    "CARGO_MANIFEST_DIR",
    "CARGO_PKG_NAME",
    "CARGO_PKG_VERSION_MAJOR",
    "CARGO_PKG_VERSION_MINOR",
    "CARGO_PKG_VERSION_PATCH",
    "CARGO_PKG_VERSION_PRE",
];

/// The changes that make another crate of the demo.
const RENAMED: [Edit; 2] = [
    Edit::of(
        "Cargo.toml",
        "[package]\nname = \"consumer-demo\"",
        "[lib]\nname = \"consumer_demo\"\n\n[package]\nname = \"faulty-demo\"",
    ),
    Edit::of(
        "Cargo.toml",
        "[[bin]]\nname = \"consumer-demo\"",
        "[[bin]]\nname = \"faulty-demo\"",
    ),
];

/// The program of the demo with a fault.
fn faulty_demo(fault: &Fault) -> PathBuf {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _alone = ONE_AT_A_TIME.lock().expect("every fault compiles");
    let workspace = top().join("target/faults");
    let more = Edit::of("Cargo.toml", "members = [", "members = [\"faulty-demo\",");
    // As old as the original, which is compiled already.
    copy_tree(&top(), &workspace, &[more], FileTimes::Original);
    let edits = [&RENAMED[..], &fault.edit].concat();
    let demo = workspace.join("faulty-demo");
    // As new as it is copied: it may have had another fault.
    copy_tree(&top().join("consumer-demo"), &demo, &edits, FileTimes::New);
    fs::write(demo.join("tests/empty.rs"), "").expect("a file can be written");
    compile(&workspace, &fault.id);
    let faulty = programs().join(&fault.id);
    fs::copy(programs().join("faulty-demo"), &faulty).expect("a program can be copied");
    faulty
}

/// Compiles the faulty demo, and the empty test beside it: where a test is built, cargo chooses
/// the features of the dependencies as for all tests.
fn compile(workspace: &Path, fault: &str) {
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--profile=test", "--offline", "--quiet"]);
    cargo.args(["--workspace", "--test", "empty", "--bin", "faulty-demo"]);
    if let Some(features) = setting("SUITES") {
        cargo.args(["--features", &features]);
    }
    for name in OF_ONE_CRATE {
        cargo.env_remove(name);
    }
    let target = programs().parent().expect("programs are in the target");
    let built = cargo
        .current_dir(workspace)
        .env("CARGO_TARGET_DIR", target)
        .env("CARGO_INCREMENTAL", "1")
        // Clippy refuses what is wrong on purpose.
        .env_remove("RUSTC_WORKSPACE_WRAPPER")
        .stdin(Stdio::null())
        .status();
    let succeeded = built.expect("cargo is there").success();
    assert!(succeeded, "{fault} does not compile");
}
