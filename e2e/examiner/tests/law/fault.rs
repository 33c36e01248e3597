//! The table of faults, `e2e/consumers/faults.toml`.

use std::path::PathBuf;

use examiner::app::Flow;
use serde::Deserialize;

use crate::consumer::Consumer;

/// One fault: a change that breaks a good consumer.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Fault {
    /// The name.
    pub(crate) id: String,
    pub(crate) consumer: Consumer,
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
    pub(crate) edit: Vec<Edit>,
}

impl Fault {
    /// The flow in which the fault shows. Examining one flow costs half of both.
    pub(crate) fn flow(&self) -> Flow {
        let checks = examiner::catalogue::checks().iter();
        let mut own = checks.filter(|check| self.fails.contains(&check.id));
        let is_legacy = own.any(|check| !check.concerns(Flow::Clean));
        let by_checks = if is_legacy { Flow::Legacy } else { Flow::Clean };
        self.flow.unwrap_or(by_checks)
    }
}

/// A replacement in one file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Edit {
    /// The file, below the consumer's folder.
    pub(crate) file: PathBuf,
    /// The text, which occurs once.
    pub(crate) find: String,
    pub(crate) replace: String,
}

#[derive(Deserialize)]
struct Table {
    fault: Vec<Fault>,
}

/// Every fault of the table.
pub(crate) fn all() -> Vec<Fault> {
    let path = crate::consumer::top().join("e2e/consumers/faults.toml");
    let text = std::fs::read_to_string(path).expect("the table is there");
    let table: Table = toml::from_str(&text).expect("the table has the form of its first lines");
    table.fault
}

impl Edit {
    /// `text` with the replacement.
    pub(crate) fn apply(&self, fault: &str, text: &str) -> String {
        let occurrences = text.matches(&self.find).count();
        let file = self.file.display();
        assert_eq!(
            occurrences, 1,
            "{fault}: its text must occur once in {file}"
        );
        text.replacen(&self.find, &self.replace, 1)
    }
}
