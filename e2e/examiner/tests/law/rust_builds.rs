//! Builds of the demo: the good one, and one for each fault, in a copy of the tree with a
//! target folder of its own, so that only the demo is compiled again.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tokio::sync::Mutex;

use crate::consumer::{apply, top};
use crate::fault::Fault;

/// One build at a time, because they share the copy.
static BUILDING: Mutex<()> = Mutex::const_new(());

/// The demo as the workspace builds it.
pub(crate) fn good() -> PathBuf {
    let tests = std::env::current_exe().expect("a test is a program");
    let programs = tests
        .ancestors()
        .nth(2)
        .expect("tests are in `deps`, below the programs");
    let demo = programs.join("consumer-demo");
    assert!(
        demo.exists(),
        "{} is missing: `just test-examiner` builds it",
        demo.display()
    );
    demo
}

/// The demo with a fault, in `folder`.
pub(crate) async fn with_fault(fault: &Fault, folder: &Path) -> PathBuf {
    let _one = BUILDING.lock().await;
    let tree = top().join("target/examiner/tree");
    let target = top().join("target/examiner/target");
    let sources = tree.join("consumer-demo/src");
    let fault = fault.clone();
    let built = folder.join("consumer-demo");
    let copied = built.clone();
    tokio::task::spawn_blocking(move || {
        copy_tree(&tree);
        apply(&fault, &sources);
        let built = Command::new("cargo")
            .args(["build", "--locked", "--quiet", "--package", "consumer-demo"])
            .current_dir(&tree)
            .env("CARGO_TARGET_DIR", &target)
            .stdin(Stdio::null())
            .status();
        let built = built.expect("cargo is there");
        assert!(built.success(), "{} does not compile", fault.id);
        fs::copy(target.join("debug/consumer-demo"), copied).expect("the program was built");
    })
    .await
    .expect("the build ends");
    built
}

/// Copies every tracked file that differs, so that cargo sees as few changes as there are.
fn copy_tree(tree: &Path) {
    let top = top();
    let listed = Command::new("git")
        .args(["ls-files", "-z"])
        .current_dir(&top)
        .output();
    let listed = listed.expect("git is there");
    for name in listed
        .stdout
        .split(|byte| *byte == 0)
        .filter(|name| !name.is_empty())
    {
        let name = std::str::from_utf8(name).expect("file names are UTF-8");
        let (from, to) = (top.join(name), tree.join(name));
        // A file that is deleted and not committed yet.
        let Ok(text) = fs::read(&from) else { continue };
        if fs::read(&to).is_ok_and(|old| old == text) {
            continue;
        }
        fs::create_dir_all(to.parent().expect("a file has a folder"))
            .expect("a folder can be made");
        fs::write(&to, text).expect("a file can be copied");
    }
}
