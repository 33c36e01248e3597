//! The files below a folder that change while an app is being worked on, seen by their times and
//! lengths.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use agent::source_tree::SourceTree;

use crate::time::{Stopwatch, pause};

/// The time between two looks. After one without a change an editor has saved everything.
const LOOK: Duration = Duration::from_millis(200);

/// The longest wait for that.
const MAX_SETTLING: Duration = Duration::from_secs(3);

/// Each file, relative to the folder, with the time of its last change and its length.
type Files = BTreeMap<PathBuf, (Option<SystemTime>, u64)>;

/// Watches a folder.
pub(crate) struct Changes {
    tree: SourceTree,
    files: Files,
    /// The files that changed during the last round.
    busy: BTreeSet<PathBuf>,
}

impl Changes {
    /// Watches what is below `root`, except for the files in `written`, which the examiner or the
    /// app writes itself.
    pub(crate) fn below(root: &Path, written: &[PathBuf]) -> Self {
        let mut changes = Self {
            tree: SourceTree::new(root, written),
            files: Files::new(),
            busy: BTreeSet::new(),
        };
        changes.look();
        changes
    }

    /// Waits for the next change, and returns the files, relative to the folder.
    ///
    /// A change during the round that has just ended counts, unless the same file changed
    /// during the round before, too: such a file is the app's own, like a database.
    pub(crate) async fn next(&mut self) -> BTreeSet<PathBuf> {
        let meanwhile = self.until_quiet().await;
        let mut changed = &meanwhile - &self.busy;
        self.busy = meanwhile;
        while changed.is_empty() {
            pause(LOOK).await;
            changed = self.until_quiet().await;
        }
        changed
    }

    /// The changes until there are none for a moment.
    async fn until_quiet(&mut self) -> BTreeSet<PathBuf> {
        let mut changed = BTreeSet::new();
        let watch = Stopwatch::start();
        loop {
            let latest = self.look();
            if latest.is_empty() || watch.elapsed() > MAX_SETTLING {
                return changed;
            }
            changed.extend(latest);
            pause(LOOK).await;
        }
    }

    /// The files that differ from the last look, or are gone.
    fn look(&mut self) -> BTreeSet<PathBuf> {
        let files = self.tree.files().into_iter();
        let now = files.map(|(path, about)| (path, (about.modified().ok(), about.len())));
        let before = std::mem::replace(&mut self.files, now.collect());
        let all = before.keys().chain(self.files.keys());
        let changed = all.filter(|it| before.get(*it) != self.files.get(*it));
        changed.cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_saved_file_begins_a_round_and_one_that_changes_in_every_round_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let write = |file: &str, text: &str| {
            let path = folder.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("app.py", "text");
        let files =
            |names: &[&str]| -> BTreeSet<PathBuf> { names.iter().map(Into::into).collect() };
        let mut changes = Changes::below(folder.path(), &[]);
        write("app.py", "longer text");
        assert_eq!(changes.next().await, files(&["app.py"]));
        write("app.db", "text");
        write("views/deep/page.html", "text");
        let both = files(&["app.db", "views/deep/page.html"]);
        assert_eq!(changes.next().await, both);
        // What changes in every round is the app's own.
        write("app.db", "longer text");
        std::fs::remove_file(folder.path().join("app.py")).unwrap();
        assert_eq!(changes.next().await, files(&["app.py"]));
    }
}
