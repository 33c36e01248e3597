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
    let named = format!("{commit}^{{commit}}");
    let id = output(
        "git",
        &[
            "rev-parse",
            "--verify",
            "--quiet",
            "--end-of-options",
            &named,
        ],
    )?
    .ok_or_else(|| error("there is no such commit; `git log --oneline` lists them"))?;
    let broker = folder.join(format!("broker-{id}"));
    if broker.is_file() {
        return Ok(broker);
    }
    let path = tree.to_string_lossy();
    let check_out = match tree.is_dir() {
        true => vec!["-C", &path, "checkout", "--quiet", "--detach", &id],
        // `--force`: an earlier one was removed without a word to git.
        false => vec![
            "worktree", "add", "--quiet", "--force", "--detach", &path, &id,
        ],
    };
    if output("git", &check_out)?.is_none() {
        return Err(error(&format!("git cannot check it out in {path}")));
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

/// The output of a command at the top of the tree, in one line; none if it fails.
fn output(program: &str, arguments: &[&str]) -> io::Result<Option<String>> {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(top_of_tree());
    let output = command.stderr(Stdio::inherit()).output()?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    Ok(output.status.success().then_some(text))
}

/// Fails unless the tree is that of a commit: before a run of 20 minutes rather
/// than after it.
pub(crate) fn check_publishable() -> Result<(), BenchError> {
    if output("git", &["diff", "--quiet", "HEAD"])?.is_none() {
        return Err(BenchError::because(
            "--publish: the tree has uncommitted changes, and a figure belongs to a commit; \
             commit them first",
        ));
    }
    Ok(())
}

/// Writes the table of a whole run.
pub(crate) fn publish(rows: &[Row]) -> Result<(), BenchError> {
    let path = top_of_tree().join(FILE);
    let text = fs::read_to_string(&path)?;
    let made = "echo \"commit \\`$(git rev-parse --short=10 HEAD)\\` on $(date --utc +%F), on \
                $(nproc --all) cores ($(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1)), \
                Linux $(uname -r)\"";
    let made = output("sh", &["-c", made])?.unwrap_or_default();
    let section = format!(
        "\nMade by `just bench --publish` at {made}. Each figure is the median of its rounds, \
         with the smallest and the greatest; only ratios carry over to another machine.\n\n{}\n",
        Table(rows),
    );
    Ok(fs::write(path, replaced(&text, &section)?)?)
}

/// `text` with `section` between its markers.
fn replaced(text: &str, section: &str) -> Result<String, BenchError> {
    let missing = || {
        let markers = format!("{} and {}", BEGIN.trim_end(), END.trim_end());
        BenchError::because(format!("{FILE} lacks the lines {markers}, in this order"))
    };
    let (head, rest) = text.split_once(BEGIN).ok_or_else(missing)?;
    let (_, tail) = rest.split_once(END).ok_or_else(missing)?;
    Ok([head, BEGIN, section, END, tail].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_publication_changes_only_what_is_between_the_markers() {
        let with = |table| format!("# Broker\n\n{BEGIN}{table}{END}\nThe rest.\n");
        let published = replaced(&with("old\n| old |\n"), "new\n").unwrap();
        assert_eq!(published, with("new\n"));
        let page = fs::read_to_string(top_of_tree().join(FILE)).unwrap();
        replaced(&page, "").unwrap();
        for text in ["# Broker\n", BEGIN, END, &[END, BEGIN].concat()] {
            let error = replaced(text, "new\n").unwrap_err().to_string();
            assert!(error.contains(FILE) && error.contains(BEGIN.trim_end()));
        }
    }
}
