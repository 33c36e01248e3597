//! The progress of a learner: a file in their folder, which outlives every stack.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};
use stack::practice::PracticeStatus;

use super::exercise::Language;

/// The name of the file.
pub(super) const FILE_NAME: &str = "progress.json";

/// The progress in one folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Progress {
    schema: u8,
    pub(super) language: Language,
    /// By the ids of exercises.
    #[serde(default)]
    pub(super) exercises: BTreeMap<String, Entry>,
}

/// The progress with one exercise.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Entry {
    pub(super) status: PracticeStatus,
    /// The versions that were judged.
    pub(super) tries: u32,
    pub(super) seconds: u64,
    /// The number of hints that were asked for.
    pub(super) hints: usize,
}

impl Progress {
    pub(super) fn new(language: Language) -> Self {
        Self {
            schema: 1,
            language,
            exercises: BTreeMap::new(),
        }
    }

    /// Reads the file in `folder`.
    ///
    /// # Errors
    ///
    /// A sentence that names the file and the way out. The file stays as it is.
    pub(super) fn read(folder: &Path) -> Result<Self, String> {
        let path = folder.join(FILE_NAME);
        let text = fs::read_to_string(&path).map_err(|error| error.to_string());
        let progress = text.and_then(|it| serde_json::from_str(&it).map_err(|it| it.to_string()));
        progress.map_err(|error| {
            format!(
                "{}: {error}. Mend the file, or begin in another folder with --folder",
                path.display()
            )
        })
    }

    /// Writes the file: whole, or not at all.
    pub(super) fn write(&self, folder: &Path) -> Result<(), String> {
        let path = folder.join(FILE_NAME);
        let beside = folder.join(".progress.json.tmp");
        let text = serde_json::to_string_pretty(self).expect("its members have JSON");
        let written = fs::write(&beside, text + "\n").and_then(|()| fs::rename(&beside, &path));
        written.map_err(|error| format!("{}: {error}", path.display()))
    }

    pub(super) fn of(&self, id: &str) -> Entry {
        self.exercises.get(id).cloned().unwrap_or_default()
    }

    pub(super) fn entry(&mut self, id: &str) -> &mut Entry {
        self.exercises.entry(id.to_owned()).or_default()
    }

    /// Whether there is nothing left to do.
    pub(super) fn is_done(&self, id: &str) -> bool {
        use PracticeStatus::{Seen, Solved};
        matches!(self.of(id).status, Seen | Solved)
    }
}
