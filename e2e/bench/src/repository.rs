//! The repository that this program was built from: the broker of an earlier commit, which is
//! measured as well; and the page of its performance, in which the table is published between
//! two markers.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::BenchError;
use crate::report::{Row, Table};

/// The file in which the table is published.
const FILE: &str = "broker/PERFORMANCE.md";

const BEGIN: &str = "<!-- The table of `just bench --publish` -->\n";
const END: &str = "<!-- End of the table -->\n";

/// The top of the source tree that this program was built from.
fn top_of_tree() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Builds the broker of a commit in a worktree of its own. The worktree and its target
/// folder stay, so that the next commit compiles less, and so does each broker.
pub(crate) fn build_broker_of(commit: &str) -> Result<PathBuf, BenchError> {
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
    let output = Command::new("git")
        .args(["rev-parse", "--verify", "--quiet", "--end-of-options"])
        .arg(format!("{commit}^{{commit}}"))
        .current_dir(top_of_tree())
        .output()?;
    let id = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    Ok(output.status.success().then_some(id))
}

/// Whether git could check the commit out in `tree`.
fn check_out(id: &str, tree: &Path) -> io::Result<bool> {
    let mut git = Command::new("git");
    git.arg("-C");
    match tree.is_dir() {
        true => git.arg(tree).args(["checkout", "--quiet", "--detach"]),
        // `--force`: an earlier one was removed without a word to git.
        false => git
            .arg(top_of_tree())
            .args(["worktree", "add", "--quiet", "--force", "--detach"])
            .arg(tree),
    };
    let status = git.arg(id).stdout(Stdio::null()).status()?;
    Ok(status.success())
}

/// Fails unless the tree is that of a commit, and the file has its markers: before a run
/// of a quarter of an hour rather than after it.
pub(crate) fn check_publishable() -> Result<(), BenchError> {
    let changed = output("git", &["status", "--porcelain", "--untracked-files=no"])?;
    if !changed.is_empty() {
        let reason = "the tree has uncommitted changes, and a figure belongs to a commit; \
                      commit them first";
        return Err(refusal(reason));
    }
    let text = fs::read_to_string(top_of_tree().join(FILE))?;
    replaced(&text, "").map(drop)
}

/// Writes the table of a whole run.
pub(crate) fn publish(rows: &[Row]) -> Result<(), BenchError> {
    let path = top_of_tree().join(FILE);
    let text = fs::read_to_string(&path)?;
    let commit = output("git", &["rev-parse", "--short=10", "HEAD"])?;
    let date = output("date", &["--utc", "+%F"])?;
    let section = format!(
        "\nMade by `just bench --publish` at commit `{commit}` on {date}, on {}. Each figure \
         is the median of its rounds, with the smallest and the greatest; only ratios carry \
         over to another machine.\n\n{}\n",
        machine(),
        Table(rows),
    );
    Ok(fs::write(path, replaced(&text, &section)?)?)
}

/// `text` with `section` between its markers.
fn replaced(text: &str, section: &str) -> Result<String, BenchError> {
    let missing = || {
        let markers = format!("{} and {}", BEGIN.trim_end(), END.trim_end());
        refusal(&format!("{FILE} lacks the lines {markers}, in this order"))
    };
    let (head, rest) = text.split_once(BEGIN).ok_or_else(missing)?;
    let (_, tail) = rest.split_once(END).ok_or_else(missing)?;
    Ok([head, BEGIN, section, END, tail].concat())
}

/// The output of a command at the top of the tree, in one line.
fn output(program: &str, arguments: &[&str]) -> Result<String, BenchError> {
    let mut command = Command::new(program);
    let output = command
        .args(arguments)
        .current_dir(top_of_tree())
        .output()?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned()),
        false => Err(refusal(&format!(
            "{program} {} failed",
            arguments.join(" ")
        ))),
    }
}

fn refusal(reason: &str) -> BenchError {
    BenchError::because(format!("--publish: {reason}"))
}

/// The cores, processor, memory and system of this machine, in words.
fn machine() -> String {
    // All cores: this thread stays on one.
    let cpus = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let cores = cpus.lines().filter(|line| line.starts_with("processor"));
    let processor = field(&cpus, "model name").unwrap_or("unknown");
    let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kib = field(&memory, "MemTotal").and_then(|text| text.split(' ').next());
    let kib: u64 = kib.and_then(|it| it.parse().ok()).unwrap_or_default();
    let system = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    format!(
        "{} cores ({processor}), {} GB, Linux {}",
        cores.count(),
        kib * 1024 / 1_000_000_000,
        system.trim()
    )
}

/// The value of the first line `name : value`.
fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let line = text.lines().find(|line| line.starts_with(name))?;
    line.split_once(':').map(|(_, value)| value.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_publication_changes_only_what_is_between_the_markers() {
        let text = format!("# Broker\n\n{BEGIN}old\n| old |\n{END}\nThe rest.\n");
        let published = replaced(&text, "new\n").unwrap();
        assert_eq!(
            published,
            format!("# Broker\n\n{BEGIN}new\n{END}\nThe rest.\n")
        );
        assert_eq!(replaced(&published, "new\n").unwrap(), published);
    }

    #[test]
    fn a_file_without_both_markers_in_their_order_is_an_error() {
        for text in ["# Broker\n", BEGIN, END, &[END, BEGIN].concat()] {
            let error = replaced(text, "new\n").unwrap_err().to_string();
            assert!(error.contains(FILE) && error.contains(BEGIN.trim_end()));
        }
    }

    #[test]
    fn the_page_of_the_performance_has_the_markers() {
        let text = fs::read_to_string(top_of_tree().join(FILE)).unwrap();
        replaced(&text, "").unwrap();
    }
}
