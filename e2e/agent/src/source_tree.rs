//! The part of a folder that people edit, and its digest.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::Metadata;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

/// The most files, and the most bytes, of which a digest is made.
const MAX_FILES: usize = 5_000;
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// Folders that tools fill. Hidden folders and virtual environments are ignored, too.
const TOOL_FOLDERS: [&str; 4] = ["target", "node_modules", "__pycache__", "venv"];

/// The ends of the names of files that editors and interpreters make.
const TOOL_FILES: [&str; 6] = ["~", ".swp", ".swo", ".swx", ".pyc", ".tmp"];

/// The part of a folder that people edit.
#[derive(Debug)]
pub struct SourceTree {
    root: PathBuf,
    /// The files that a program writes.
    written: Vec<PathBuf>,
}

impl SourceTree {
    /// The tree below `root`, without the files in `written`, which programs write.
    pub fn new(root: &Path, written: &[PathBuf]) -> Self {
        Self {
            root: root.to_owned(),
            written: written.iter().map(|it| root.join(it)).collect(),
        }
    }

    /// Its files by their paths below the folder, each with what the system knows of it.
    pub fn files(&self) -> BTreeMap<PathBuf, Metadata> {
        let mut files = BTreeMap::new();
        let mut open = vec![self.root.clone()];
        while let Some(folder) = open.pop() {
            for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
                let path = entry.path();
                // What is gone again is nothing.
                let Ok(about) = entry.metadata() else {
                    continue;
                };
                if about.is_dir() && !is_tool_folder(&path) {
                    open.push(path);
                } else if about.is_file()
                    && self.is_edited(&path)
                    && let Ok(relative) = path.strip_prefix(&self.root)
                {
                    files.insert(relative.to_owned(), about);
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

/// The number of the files of a program that `command` starts in `folder`, and their digest:
/// SHA-256 of what `sha256sum` prints of them, sorted. They are the files that people edit, without
/// those in `written`, and each file that the command names. None of too many.
pub fn digest(folder: &Path, command: &[String], written: &[PathBuf]) -> Option<(usize, String)> {
    // Nobody edits a whole machine.
    folder.parent()?;
    let files = SourceTree::new(folder, written).files();
    let mut files: BTreeSet<_> = files.into_keys().collect();
    files.extend(command.iter().map(|word| {
        let path = folder.join(word);
        path.strip_prefix(folder)
            .map_or(path.clone(), Path::to_owned)
    }));
    let mut listing = BTreeSet::new();
    let mut bytes = 0;
    for file in files {
        let path = folder.join(&file);
        let Ok(about) = path.metadata() else { continue };
        bytes += about.len();
        if bytes > MAX_BYTES || listing.len() == MAX_FILES {
            return None;
        }
        // A pipe has no content, and what this user may not read is no part of the program.
        if about.is_file()
            && let Ok(content) = std::fs::read(&path)
        {
            listing.insert(format!("{}  {}\n", sha256(&content), file.display()));
        }
    }
    let lines: String = listing.iter().map(String::as_str).collect();
    Some((listing.len(), sha256(lines.as_bytes())))
}

fn sha256(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(folder: &tempfile::TempDir, name: &str, text: &str) {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    #[test]
    fn what_people_edit_is_in_the_tree_and_what_tools_make_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let edited = [".env", "app.py", "my_target/a.js", "src/main.rs"];
        let made = [
            ".app.py.swp",
            ".git/index",
            ".venv/lib/flask.py",
            "__pycache__/app.pyc",
            "app.py~",
            "env39/lib/flask.py",
            "env39/pyvenv.cfg",
            "out/report.html",
            "target/debug/app",
            "web/node_modules/a/index.js",
        ];
        for file in edited.iter().chain(&made) {
            write(&folder, file, "text");
        }
        let files = SourceTree::new(folder.path(), &["out/report.html".into()]).files();
        assert!(files.keys().eq(edited.iter().map(Path::new)), "{files:?}");
    }

    #[test]
    fn a_digest_is_that_of_sha256sum_over_what_is_edited_and_what_the_command_names() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| write(&folder, name, text);
        write("page.html", "a");
        write("app.log", "b");
        write("target/app", "a");
        let command = ["./target/app", "--port"].map(str::to_owned);
        let of = || digest(folder.path(), &command, &["app.log".into()]).unwrap();
        let sum = "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb";
        let lines = format!("{sum}  page.html\n{sum}  target/app\n");
        assert_eq!(of(), (2, sha256(lines.as_bytes())));
        write("app.py", "");
        assert_eq!(of().0, 3);
    }
}
