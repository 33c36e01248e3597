//! The part of a folder that people edit, and its digest.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::Metadata;
use std::path::{Path, PathBuf};

use contract::Digest;

/// Folders that tools fill. Hidden folders and virtual environments are ignored, too.
const TOOL_FOLDERS: [&str; 4] = ["target", "node_modules", "__pycache__", "venv"];

/// The ends of the names of files that editors and interpreters make.
const TOOL_FILES: [&str; 6] = ["~", ".swp", ".swo", ".swx", ".pyc", ".tmp"];

/// The part of a folder that people edit.
pub(crate) struct Tree {
    root: PathBuf,
    /// The files that the examiner or the app writes.
    written: Vec<PathBuf>,
}

impl Tree {
    pub(crate) fn new(root: &Path, written: &[PathBuf]) -> Self {
        Self {
            root: root.to_owned(),
            written: written.iter().map(|it| root.join(it)).collect(),
        }
    }

    /// Its files by their paths below the folder, each with what the system knows of it.
    pub(crate) fn files(&self) -> BTreeMap<PathBuf, Metadata> {
        let mut files = BTreeMap::new();
        let mut open = vec![self.root.clone()];
        while let Some(folder) = open.pop() {
            for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
                let path = entry.path();
                // What is gone again is nothing.
                let Ok(data) = entry.metadata() else { continue };
                if data.is_dir() && !is_tool_folder(&path) {
                    open.push(path);
                } else if data.is_file()
                    && self.is_edited(&path)
                    && let Ok(relative) = path.strip_prefix(&self.root)
                {
                    files.insert(relative.to_owned(), data);
                }
            }
        }
        files
    }

    /// Whether people edit such a file.
    fn is_edited(&self, path: &Path) -> bool {
        let name = path.file_name().and_then(|it| it.to_str());
        let is_made = name.is_none_or(|name| TOOL_FILES.iter().any(|end| name.ends_with(end)));
        !is_made && !self.written.iter().any(|it| it == path)
    }
}

fn is_tool_folder(folder: &Path) -> bool {
    let name = folder.file_name().and_then(|it| it.to_str());
    name.is_some_and(|it| it.starts_with('.') || TOOL_FOLDERS.contains(&it))
        || folder.join("pyvenv.cfg").exists()
}

/// The most files, and the most bytes, of which a digest is made.
const MAX_FILES: usize = 5_000;
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// The number of the files of an app that a command starts here, and their digest: SHA-256 of what
/// `sha256sum` prints of them, sorted. They are those below the current folder, or below that of a
/// script elsewhere that the command names, and every file that it names. None of too many.
pub(crate) fn digest(command: &[String], written: &[PathBuf]) -> Option<(usize, String)> {
    let here = std::env::current_dir().ok()?;
    let named = command.iter().map(|word| here.join(word));
    let named: Vec<_> = named.filter(|path| path.is_file()).collect();
    let mut elsewhere = named.iter().filter(|path| !path.starts_with(&here));
    let script = elsewhere
        .find(|path| is_text(path))
        .and_then(|it| it.parent());
    let root = script.unwrap_or(&here);
    // Nobody edits a whole machine.
    root.parent()?;
    let below = Tree::new(root, written).files();
    let is_below = |path: &Path| {
        path.strip_prefix(root)
            .is_ok_and(|it| below.contains_key(it))
    };
    let named = named.iter().filter(|path| !is_below(path));
    let named = named.filter_map(|path| Some((path.clone(), path.file_name()?.into())));
    let mut listing = BTreeSet::new();
    let mut bytes = 0;
    let below = below.keys().map(|file| (root.join(file), file.clone()));
    for (path, name) in below.chain(named).filter(|(path, _)| path.is_file()) {
        bytes += path.metadata().map_or(0, |it| it.len());
        if bytes > MAX_BYTES || listing.len() == MAX_FILES {
            return None;
        }
        // What this user may not read is no part of the app.
        let Ok(content) = std::fs::read(&path) else {
            continue;
        };
        listing.insert(format!("{}  {}\n", sha256(&content), name.display()));
    }
    let lines: String = listing.iter().map(String::as_str).collect();
    Some((listing.len(), sha256(lines.as_bytes())))
}

fn is_text(path: &Path) -> bool {
    std::fs::read(path).is_ok_and(|content| !content.contains(&0))
}

fn sha256(bytes: &[u8]) -> String {
    let digest = Digest::of(bytes);
    let digits = digest.as_bytes().iter().map(|byte| format!("{byte:02x}"));
    digits.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_of_a_script_is_that_of_sha256sum_over_its_folder() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text);
        write("app.py", "a").unwrap();
        write("app.log", "b").unwrap();
        let script = folder.path().join("app.py").display().to_string();
        let command = ["python".to_owned(), script];
        let log = [folder.path().join("app.log")];
        let (files, before) = digest(&command, &log).unwrap();
        let line = "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb  app.py\n";
        assert_eq!((files, &before), (1, &sha256(line.as_bytes())));
        write("page.html", "").unwrap();
        let (files, after) = digest(&command, &log).unwrap();
        assert!(files == 2 && after != before, "{after}");
    }
}
