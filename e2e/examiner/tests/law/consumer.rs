//! Copies of the good consumers, as they are or with a fault.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use tempfile::TempDir;
use testkit::server::free_port;
use url::Url;

use crate::fault::Fault;
use crate::rust_builds;

/// A good consumer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Consumer {
    /// `e2e/consumers/python`, on Flask.
    Python,
    /// `e2e/consumers/node`, on Express.
    Node,
    /// `consumer-demo`, on Rocket.
    Rust,
}

/// A consumer that can be started, in a folder of its own.
pub(crate) struct Copy {
    name: String,
    command: Vec<String>,
    _folder: TempDir,
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

impl Consumer {
    /// The folder with its sources.
    fn sources(self) -> PathBuf {
        top().join(match self {
            Self::Python => "e2e/consumers/python",
            Self::Node => "e2e/consumers/node",
            Self::Rust => "consumer-demo",
        })
    }
}

impl Copy {
    /// The consumer as it is.
    pub(crate) fn good(consumer: Consumer) -> Self {
        let folder = TempDir::new().expect("a temporary folder can be made");
        let command = match consumer {
            Consumer::Rust => vec![program(&rust_builds::good())],
            script => {
                copy_folder(&script.sources(), folder.path());
                interpret(script, folder.path())
            }
        };
        Self::new(format!("{consumer:?}"), command, folder)
    }

    /// The consumer with a fault.
    pub(crate) async fn with_fault(fault: &Fault) -> Self {
        let folder = TempDir::new().expect("a temporary folder can be made");
        let command = match fault.consumer {
            Consumer::Rust => vec![program(&rust_builds::with_fault(fault).await)],
            script => {
                copy_folder(&script.sources(), folder.path());
                apply(fault, folder.path());
                interpret(script, folder.path())
            }
        };
        Self::new(fault.id.clone(), command, folder)
    }

    fn new(name: String, mut command: Vec<String>, folder: TempDir) -> Self {
        // A slow broker is waited for to the end of this time.
        command.splice(0..0, ["env".to_owned(), "CALL_SECONDS=8".to_owned()]);
        Self {
            name,
            command,
            _folder: folder,
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn command(&self) -> Vec<String> {
        self.command.clone()
    }

    /// A start page on a port that is free.
    pub(crate) fn start() -> Url {
        let port = free_port();
        let start = format!("http://localhost:{port}/");
        start.parse().expect("it is an address")
    }
}

/// Makes the changes of `fault` below `folder`.
pub(crate) fn apply(fault: &Fault, folder: &Path) {
    for edit in &fault.edit {
        let path = folder.join(&edit.file);
        let text =
            fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        fs::write(&path, edit.apply(&fault.id, &text)).expect("the copy can be written");
    }
}

fn interpret(consumer: Consumer, folder: &Path) -> Vec<String> {
    match consumer {
        Consumer::Python => vec![
            program(&top().join("target/consumers/python/bin/python")),
            program(&folder.join("app.py")),
        ],
        _ => vec!["node".to_owned(), program(&folder.join("app.mjs"))],
    }
}

fn program(path: &Path) -> String {
    path.to_str().expect("the path is text").to_owned()
}

/// Copies sources; installed packages are linked.
fn copy_folder(from: &Path, to: &Path) {
    for entry in fs::read_dir(from)
        .expect("the consumer is there")
        .map_while(Result::ok)
    {
        let target = to.join(entry.file_name());
        let kind = entry.file_type().expect("a file has a type");
        if entry.file_name() == "node_modules" {
            std::os::unix::fs::symlink(entry.path(), target).expect("a link can be made");
        } else if kind.is_dir() && entry.file_name() != "__pycache__" {
            fs::create_dir(&target).expect("a folder can be made");
            copy_folder(&entry.path(), &target);
        } else if kind.is_file() {
            fs::copy(entry.path(), target).expect("a file can be copied");
        }
    }
}
