//! The files below a folder that change while an app is being worked on.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use notify::event::{EventKind, ModifyKind};
use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::mpsc;

use crate::time::{Stopwatch, within};

/// The time without a change after which an editor has saved everything.
const QUIET: Duration = Duration::from_millis(200);

/// The longest wait for that.
const MAX_SETTLING: Duration = Duration::from_secs(3);

/// Watches a folder.
pub(super) struct Changes {
    tree: Tree,
    watcher: RecommendedWatcher,
    events: mpsc::UnboundedReceiver<PathBuf>,
    watched: BTreeSet<PathBuf>,
    /// The files that changed during the last round.
    busy: BTreeSet<PathBuf>,
}

impl Changes {
    /// Watches what is below `folder`, except for the files in `written`, which the
    /// examiner or the app writes itself.
    ///
    /// # Errors
    ///
    /// If the operating system cannot watch the folder.
    pub(super) fn below(folder: &Path, written: &[PathBuf]) -> Result<Self, String> {
        let (sender, events) = mpsc::unbounded_channel();
        let handler = move |event: notify::Result<notify::Event>| {
            let event = event.ok().filter(|it| changes_content(&it.kind));
            for path in event.into_iter().flat_map(|it| it.paths) {
                // The receiver ends with the program.
                let _ = sender.send(path);
            }
        };
        let watcher = notify::recommended_watcher(handler).map_err(|error| cannot(&error))?;
        let mut changes = Self {
            tree: Tree::new(folder, written),
            watcher,
            events,
            watched: BTreeSet::new(),
            busy: BTreeSet::new(),
        };
        changes.watch_new_folders()?;
        Ok(changes)
    }

    /// Waits for the next change, and returns the files, relative to the folder.
    ///
    /// A change during the round that has just ended counts, unless the same file changed
    /// during the round before, too: such a file is the app's own, like a database.
    ///
    /// # Errors
    ///
    /// If a new folder cannot be watched.
    pub(super) async fn next(&mut self) -> Result<BTreeSet<PathBuf>, String> {
        let meanwhile = self.until_quiet().await?;
        let mut changed = fresh(&meanwhile, &self.busy);
        self.busy = meanwhile;
        while changed.is_empty() {
            let Some(path) = self.events.recv().await else {
                return Err("--watch: the operating system reports no more changes".to_owned());
            };
            changed.extend(self.tree.relevant(&path));
            changed.extend(self.until_quiet().await?);
        }
        // Editors save by way of files that are gone by now.
        let (kept, gone): (BTreeSet<_>, BTreeSet<_>) =
            changed.into_iter().partition(|it| self.tree.contains(it));
        Ok(if kept.is_empty() { gone } else { kept })
    }

    /// The changes until there are none for a moment.
    async fn until_quiet(&mut self) -> Result<BTreeSet<PathBuf>, String> {
        let mut changed = BTreeSet::new();
        let watch = Stopwatch::start();
        while watch.elapsed() < MAX_SETTLING {
            let Some(Some(path)) = within(QUIET, self.events.recv()).await else {
                break;
            };
            changed.extend(self.tree.relevant(&path));
        }
        changed.extend(self.watch_new_folders()?);
        Ok(changed)
    }

    /// Watches each folder that is not watched yet, and returns the files in it.
    fn watch_new_folders(&mut self) -> Result<BTreeSet<PathBuf>, String> {
        let mut files = BTreeSet::new();
        for folder in self.tree.folders() {
            if self.watched.contains(&folder) {
                continue;
            }
            let watched = self.watcher.watch(&folder, RecursiveMode::NonRecursive);
            match watched {
                Ok(()) => files.extend(self.tree.files_in(&folder)),
                // A folder that has gone again is none.
                Err(_) if !folder.exists() => continue,
                Err(error) => return Err(cannot(&error)),
            }
            self.watched.insert(folder);
        }
        self.watched.retain(|it| it.exists());
        Ok(files)
    }
}

fn cannot(error: &notify::Error) -> String {
    format!("--watch: this folder cannot be watched: {error}")
}

/// Whether such an event changes a file; reading one does not.
fn changes_content(kind: &EventKind) -> bool {
    match kind {
        EventKind::Modify(kind) => !matches!(kind, ModifyKind::Metadata(_)),
        EventKind::Create(_) | EventKind::Remove(_) => true,
        EventKind::Access(_) | EventKind::Any | EventKind::Other => false,
    }
}

/// The files that changed during this round and not during the one before.
fn fresh(meanwhile: &BTreeSet<PathBuf>, before: &BTreeSet<PathBuf>) -> BTreeSet<PathBuf> {
    meanwhile.difference(before).cloned().collect()
}

/// Folders that tools fill. Hidden folders and virtual environments are ignored, too.
const TOOL_FOLDERS: [&str; 4] = ["target", "node_modules", "__pycache__", "venv"];

/// The ends of the names of files that editors and interpreters make.
const TOOL_FILES: [&str; 6] = ["~", ".swp", ".swo", ".swx", ".pyc", ".tmp"];

/// The part of a folder that people edit.
struct Tree {
    root: PathBuf,
    /// The files that the examiner or the app writes.
    written: Vec<PathBuf>,
}

impl Tree {
    fn new(root: &Path, written: &[PathBuf]) -> Self {
        Self {
            root: root.to_owned(),
            written: written.iter().map(|it| root.join(it)).collect(),
        }
    }

    /// The folders that are watched.
    fn folders(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut open = vec![self.root.clone()];
        while let Some(folder) = open.pop() {
            let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
            let folders = entries.filter(|it| it.file_type().is_ok_and(|kind| kind.is_dir()));
            let inner = folders.map(|it| it.path());
            open.extend(inner.filter(|it| !is_tool_folder(it)));
            found.push(folder);
        }
        found
    }

    /// The files in one of its folders.
    fn files_in(&self, folder: &Path) -> BTreeSet<PathBuf> {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let paths = entries.map(|it| it.path());
        paths.filter_map(|it| self.relevant(&it)).collect()
    }

    /// Whether there is such a file, relative to the folder.
    fn contains(&self, file: &Path) -> bool {
        self.root.join(file).exists()
    }

    /// The path of a file that is edited, relative to the folder.
    fn relevant(&self, path: &Path) -> Option<PathBuf> {
        let relative = path.strip_prefix(&self.root).ok()?;
        let name = path.file_name()?.to_str()?;
        // The last ancestor is the folder itself, whose name does not matter.
        let folders = || {
            relative
                .ancestors()
                .skip(1)
                .filter(|it| *it != Path::new(""))
        };
        let is_made = TOOL_FILES.iter().any(|end| name.ends_with(end))
            || self.written.iter().any(|it| it == path)
            || path.is_dir()
            || folders().any(|it| is_tool_folder(&self.root.join(it)));
        (!is_made).then(|| relative.to_owned())
    }
}

fn is_tool_folder(folder: &Path) -> bool {
    let name = folder.file_name().and_then(|it| it.to_str());
    name.is_some_and(|it| it.starts_with('.') || TOOL_FOLDERS.contains(&it))
        || folder.join("pyvenv.cfg").exists()
}
