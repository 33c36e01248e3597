//! The table of faults, `e2e/consumers/faults.toml`, and the published matrix, which is made of
//! it: each fault with the checks that it fails.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use agent::tree::Edit;
use examiner::app::Flow;
use examiner::catalogue::Check;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::setting;

/// One fault: a change that breaks a good consumer.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Fault {
    /// The name.
    pub(crate) id: String,
    /// The id of the consumer that has it.
    pub(crate) consumer: String,
    /// The fault in one sentence.
    pub(crate) says: String,
    /// The flow in which it is examined; by default the one that its checks concern.
    flow: Option<Flow>,
    /// Whether only Chromium shows the fault, in a check that also runs without it.
    #[serde(default)]
    pub(crate) needs_chromium: bool,
    /// The checks that fail, and no other.
    pub(crate) fails: Vec<String>,
    /// But for these, which fail if a timer of the app has it so.
    #[serde(default)]
    pub(crate) may_fail: Vec<String>,
    /// The replacements, in files below the consumer's folder.
    pub(crate) edit: Vec<Edit>,
}

impl Fault {
    /// The checks that fail.
    pub(crate) fn checks(&self) -> impl Iterator<Item = &'static Check> {
        let checks = examiner::catalogue::checks().iter();
        checks.filter(|check| self.fails.contains(&check.id))
    }

    /// The flow in which the fault shows. Examining one flow costs half of both.
    pub(crate) fn flow(&self) -> Flow {
        let is_legacy = self.checks().any(|check| !check.concerns(Flow::Clean));
        let by_checks = if is_legacy { Flow::Legacy } else { Flow::Clean };
        self.flow.unwrap_or(by_checks)
    }
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

/// The rows of a table beside the consumers.
pub(crate) fn rows<R: DeserializeOwned>(file: &str, name: &str) -> Vec<R> {
    let path = top().join("e2e/consumers").join(file);
    let text = fs::read_to_string(path).expect("the table is there");
    let mut table: BTreeMap<String, Vec<R>> =
        toml::from_str(&text).expect("the table has the form of its first lines");
    table.remove(name).expect("the table has rows of this name")
}

/// Every fault of the table.
pub(crate) fn all() -> Vec<Fault> {
    rows("faults.toml", "fault")
}

/// Compares `e2e/consumers/MATRIX.md` with the table, or writes it if `PUBLISH_MATRIX` is
/// set.
pub(crate) fn compare_or_publish(faults: &[Fault]) {
    let path = top().join("e2e/consumers/MATRIX.md");
    let matrix = matrix(faults);
    if setting("PUBLISH_MATRIX").is_some() {
        fs::write(&path, matrix).expect("the matrix can be written");
        return;
    }
    let published = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        published == matrix,
        "the matrix is old: `just examiner-matrix` writes it"
    );
}

fn matrix(faults: &[Fault]) -> String {
    let checks = examiner::catalogue::checks();
    let mut text = format!(
        "# Faults and the checks that find them\n\n\
         {} faults, each a change of a few lines in a good consumer, and the {} checks of the\n\
         examiner. `just test-examiner` proves the table: each fault fails exactly the checks\n\
         named here, and the good consumers fail none.\n\n\
         | fault | consumer | broken how | fails |\n|---|---|---|---|\n",
        faults.len(),
        checks.len(),
    );
    for fault in faults {
        let (id, consumer, says) = (&fault.id, &fault.consumer, &fault.says);
        let fails = fault.fails.join("`, `");
        let _ = writeln!(text, "| {id} | {consumer} | {says} | `{fails}` |");
    }
    text.push_str("\n| check | severity | broken by |\n|---|---|---|\n");
    for check in checks {
        let (id, severity) = (&check.id, &check.severity);
        let by = faults.iter().filter(|fault| fault.fails.contains(id));
        let by: Vec<_> = by.map(|fault| fault.id.as_str()).collect();
        let _ = writeln!(text, "| `{id}` | {severity} | {} |", by.join(", "));
    }
    text
}
