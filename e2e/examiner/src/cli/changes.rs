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
type Files = BTreeMap<PathBuf, (SystemTime, u64)>;

/// Watches a folder.
pub(super) struct Changes {
    tree: SourceTree,
    files: Files,
    /// The files that changed during the last round.
    busy: BTreeSet<PathBuf>,
}

impl Changes {
    /// Watches what is below `root`, except for the files in `written`, which the examiner or the
    /// app writes itself.
    pub(super) fn below(root: &Path, written: &[PathBuf]) -> Self {
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
    pub(super) async fn next(&mut self) -> BTreeSet<PathBuf> {
        let meanwhile = self.until_quiet().await;
        let mut changed = fresh(&meanwhile, &self.busy);
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
        let now = self.files_now();
        let before = std::mem::replace(&mut self.files, now);
        let all = before.keys().chain(self.files.keys());
        let changed = all.filter(|it| before.get(*it) != self.files.get(*it));
        changed.cloned().collect()
    }

    fn files_now(&self) -> Files {
        let files = self.tree.files().into_iter();
        let known = files.map(|(path, data)| {
            let time = data.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            (path, (time, data.len()))
        });
        known.collect()
    }
}

/// The files that changed during this round and not during the one before.
fn fresh(meanwhile: &BTreeSet<PathBuf>, before: &BTreeSet<PathBuf>) -> BTreeSet<PathBuf> {
    meanwhile.difference(before).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(folder: &tempfile::TempDir, file: &str, text: &str) {
        let path = folder.path().join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn names(files: &BTreeSet<PathBuf>) -> Vec<&str> {
        files.iter().filter_map(|it| it.to_str()).collect()
    }

    #[test]
    fn a_file_that_changes_in_every_round_is_the_app_s_own() {
        let files =
            |names: &[&str]| -> BTreeSet<PathBuf> { names.iter().map(Into::into).collect() };
        let (busy, both) = (files(&["app.db"]), files(&["app.db", "app.py"]));
        assert_eq!(names(&fresh(&both, &busy)), ["app.py"]);
        assert_eq!(names(&fresh(&busy, &files(&[]))), ["app.db"]);
    }

    #[tokio::test]
    async fn a_saved_file_begins_a_round_and_so_does_one_in_a_new_folder() {
        let folder = tempfile::tempdir().unwrap();
        write(&folder, "app.py", "text");
        let mut changes = Changes::below(folder.path(), &[]);
        write(&folder, "app.py", "longer text");
        assert_eq!(names(&changes.next().await), ["app.py"]);
        write(&folder, "views/deep/page.html", "text");
        assert_eq!(names(&changes.next().await), ["views/deep/page.html"]);
        std::fs::remove_file(folder.path().join("app.py")).unwrap();
        assert_eq!(names(&changes.next().await), ["app.py"]);
    }
}
