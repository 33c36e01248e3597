//! The part of a folder that people edit.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Folders that tools fill. Hidden folders and virtual environments are ignored, too.
const TOOL_FOLDERS: [&str; 4] = ["target", "node_modules", "__pycache__", "venv"];

/// The ends of the names of files that editors and interpreters make.
const TOOL_FILES: [&str; 6] = ["~", ".swp", ".swo", ".swx", ".pyc", ".tmp"];

/// A folder.
pub(super) struct Tree {
    root: PathBuf,
    /// The files that the examiner or the app writes.
    written: Vec<PathBuf>,
}

impl Tree {
    pub(super) fn new(root: &Path, written: &[PathBuf]) -> Self {
        Self {
            root: root.to_owned(),
            written: written.iter().map(|it| root.join(it)).collect(),
        }
    }

    /// The folders that are watched.
    pub(super) fn folders(&self) -> Vec<PathBuf> {
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
    pub(super) fn files_in(&self, folder: &Path) -> BTreeSet<PathBuf> {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let paths = entries.map(|it| it.path());
        paths.filter_map(|it| self.relevant(&it)).collect()
    }

    /// Whether there is such a file, relative to the folder.
    pub(super) fn contains(&self, file: &Path) -> bool {
        self.root.join(file).exists()
    }

    /// The path of a file that is edited, relative to the folder.
    pub(super) fn relevant(&self, path: &Path) -> Option<PathBuf> {
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
