//! A copy of a tree of sources in which texts are replaced, to be compiled or run.

use std::borrow::Cow;
use std::fs;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::Command;
use std::time::SystemTime;

use serde::Deserialize;

/// A replacement in one file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Edit {
    /// The path of the file, from the root of the tree.
    pub file: Cow<'static, str>,
    /// The text, which occurs once.
    pub find: Cow<'static, str>,
    /// The text in its place.
    pub replace: Cow<'static, str>,
}

/// The time at which a file of a copy was changed, as its compiler sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileTimes {
    /// That of the original: what was compiled from the original is not compiled again.
    Original,
    /// That of the copying: what an edit has broken is compiled again without it.
    New,
}

impl Edit {
    /// The replacement of `find`, which occurs once in `file`.
    pub const fn of(file: &'static str, find: &'static str, replace: &'static str) -> Self {
        Self {
            file: Cow::Borrowed(file),
            find: Cow::Borrowed(find),
            replace: Cow::Borrowed(replace),
        }
    }

    /// The text of the file with the replacement.
    ///
    /// # Errors
    ///
    /// A sentence, if the text to replace does not occur exactly once, or stays as it is.
    pub fn apply(&self, text: &str) -> Result<String, String> {
        let Self {
            file,
            find,
            replace,
        } = self;
        match text.matches(&**find).count() {
            1 if find != replace => Ok(text.replacen(&**find, replace, 1)),
            count => Err(format!(
                "{find} must occur once in {file} and change, and occurs {count} times: the edit \
                 has to follow the source"
            )),
        }
    }
}

/// Makes `copy` equal to the tree at `root`, apart from `edits`. Its files are those that Git
/// knows or would take. One that is equal already stays as old as it is, so that only what
/// differs is compiled again.
///
/// # Errors
///
/// A sentence, if an edit does not fit, Git knows no files at `root`, or a file can be neither
/// read nor written.
pub fn copy(root: &Path, copy: &Path, edits: &[Edit], times: FileTimes) -> Result<(), String> {
    let files = files(root)?;
    let is_there = |edit: &&Edit| files.iter().any(|file| file == &*edit.file);
    if let Some(edit) = edits.iter().find(|edit| !is_there(edit)) {
        return Err(format!("no file {}: the edit has to follow it", edit.file));
    }
    for file in files {
        let (from, to) = (root.join(&file), copy.join(&file));
        let at = |error: io::Error| format!("{file}: {error}");
        if !from.exists() {
            // Deleted, and not committed yet.
            let _ = fs::remove_file(to);
            continue;
        }
        let mut bytes = fs::read(&from).map_err(at)?;
        for edit in edits.iter().filter(|edit| file == edit.file) {
            bytes = edit.apply(&String::from_utf8_lossy(&bytes))?.into_bytes();
        }
        let modified = match times {
            FileTimes::Original => Some(
                fs::metadata(&from)
                    .and_then(|it| it.modified())
                    .map_err(at)?,
            ),
            FileTimes::New => None,
        };
        write(&to, &bytes, modified).map_err(at)?;
    }
    Ok(())
}

/// The files below `root`, as paths from there; none is an error.
fn files(root: &Path) -> Result<Vec<String>, String> {
    let mut git = Command::new("git");
    git.args([
        "ls-files",
        "-z",
        "--cached",
        "--others",
        "--exclude-standard",
    ]);
    let listed = git.current_dir(root).output();
    let listed = listed.map_err(|error| format!("git: {error}"))?;
    let files = String::from_utf8_lossy(&listed.stdout);
    let files: Vec<_> = files.split_terminator('\0').map(str::to_owned).collect();
    let said = match listed.status.success() {
        true if files.is_empty() => Cow::Borrowed("no files"),
        true => return Ok(files),
        false => String::from_utf8_lossy(&listed.stderr),
    };
    Err(format!("git in {}: {}", root.display(), said.trim()))
}

/// Writes a file that has other contents, or is not there.
fn write(path: &Path, bytes: &[u8], modified: Option<SystemTime>) -> io::Result<()> {
    if fs::read(path).is_ok_and(|old| old == bytes) {
        return Ok(());
    }
    fs::create_dir_all(path.parent().unwrap_or(path))?;
    let mut file = fs::File::create(path)?;
    file.write_all(bytes)?;
    match modified {
        Some(time) => file.set_modified(time),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edit_fits_a_text_that_occurs_once() {
        let edit = |find, replace| Edit::of("a.rs", find, replace).apply("one two two");
        assert_eq!(edit("one", "1").as_deref(), Ok("1 two two"));
        for misfit in [edit("two", "2"), edit("three", "3"), edit("one", "one")] {
            assert!(misfit.unwrap_err().contains(" in a.rs "));
        }
    }

    #[test]
    fn a_copy_is_edited_and_is_whole_again_without_the_edit() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let name = format!("copy-{}", crate::random::letters());
        let to = std::env::temp_dir().join(name);
        let manifest = || fs::read_to_string(to.join("Cargo.toml")).unwrap();
        let edit = [Edit::of(
            "Cargo.toml",
            "name = \"agent\"",
            "name = \"other\"",
        )];
        copy(root, &to, &edit, FileTimes::Original).unwrap();
        assert!(manifest().contains("\"other\""));
        copy(root, &to, &[], FileTimes::New).unwrap();
        assert_eq!(
            manifest(),
            fs::read_to_string(root.join("Cargo.toml")).unwrap()
        );
        let modified = |folder: &Path| folder.join("src/tree.rs").metadata().unwrap().modified();
        assert_eq!(modified(&to).unwrap(), modified(root).unwrap());
        let nowhere = [Edit::of("src/none.rs", "a", "b")];
        assert!(copy(root, &to, &nowhere, FileTimes::New).is_err());
        let empty = to.join("empty");
        fs::create_dir(&empty).unwrap();
        let refused = copy(&empty, &to, &[], FileTimes::New).unwrap_err();
        assert!(refused.contains(empty.to_str().unwrap()), "{refused}");
        fs::remove_dir_all(to).unwrap();
    }
}
