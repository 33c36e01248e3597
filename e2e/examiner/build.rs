//! Names the commit that the examiner is built of, for its reports. `KIT_COMMIT` in the
//! environment names it where there is no tree of git.

use std::path::Path;
use std::process::Command;

/// The sources of the examiner and of its stack, and the head of the tree, which changes with
/// each commit.
const WATCHED: &str = "src templates checks.toml ../agent/src ../stack/src ../../broker/src ../../broker/contract ../../mock-upstream/src ../../.git/logs/HEAD";

#[expect(
    clippy::disallowed_methods,
    reason = "a build script is configured by the environment alone"
)]
fn main() {
    println!("cargo:rerun-if-env-changed=KIT_COMMIT");
    // What is missing would count as changed.
    for path in WATCHED.split(' ').filter(|it| Path::new(it).exists()) {
        println!("cargo:rerun-if-changed={path}");
    }
    let commit = std::env::var("KIT_COMMIT").ok().or_else(commit_of_tree);
    println!("cargo:rustc-env=KIT_COMMIT={}", commit.unwrap_or_default());
}

/// The commit of the tree: `55c539b1a2b3`, or `55c539b1a2b3, changed since`.
fn commit_of_tree() -> Option<String> {
    let mut git = Command::new("git");
    git.args(["describe", "--always", "--exclude=*", "--abbrev=12"]);
    let output = git.arg("--dirty=, changed since").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
