//! The folder of the learner: an app for each exercise, and the progress.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::exercise::{Exercise, Language, is_shared};
use super::progress::{FILE_NAME, Progress};

/// The files that tools fill, which are not committed.
const IGNORED: &str = "node_modules\n.venv\n__pycache__\n*~\nreport.html\n";

/// A folder with apps.
pub(super) struct Folder {
    /// As the learner named it.
    pub(super) name: PathBuf,
    /// The same from the root.
    pub(super) root: PathBuf,
    pub(super) language: Language,
}

impl Folder {
    /// Opens the folder, or makes it with every app; and whether it is new.
    ///
    /// # Errors
    ///
    /// A sentence that names the flag, if the folder is something else.
    pub(super) fn open(
        name: &Path,
        language: Option<Language>,
    ) -> Result<(Self, Progress, bool), String> {
        let shown = name.display();
        let is_new = !name.join(FILE_NAME).exists();
        let progress = match is_new {
            true => Progress::new(language.ok_or("--in: which language? python or javascript")?),
            false => Progress::read(name)?,
        };
        let its = progress.language;
        if let Some(other) = language.filter(|it| *it != its) {
            return Err(format!(
                "--in {other}: the apps in {shown} are in {its}. Leave the flag out to go on there, or begin in \
                 another folder with --folder"
            ));
        }
        if is_new && fs::read_dir(name).is_ok_and(|mut it| it.next().is_some()) {
            return Err(format!(
                "--folder {shown}: the folder exists, and has no {FILE_NAME} to go on with. Name one that does not \
                 exist"
            ));
        }
        let at = |error: io::Error| format!("--folder {shown}: {error}");
        fs::create_dir_all(name).map_err(at)?;
        let folder = Self {
            name: name.to_owned(),
            root: name.canonicalize().map_err(at)?,
            language: its,
        };
        folder.fill()?;
        progress.write(&folder.root)?;
        Ok((folder, progress, is_new))
    }

    /// Writes what is not there yet; what is there stays.
    fn fill(&self) -> Result<(), String> {
        let shared = self.language.sources().filter(|(file, _)| is_shared(file));
        for (file, text) in shared.chain([(".gitignore", IGNORED)]) {
            if !self.root.join(file).exists() {
                write(&self.root.join(file), text)?;
            }
        }
        for place in 0..Exercise::all().len() {
            if !self.app(place).exists() {
                self.write_app(place)?;
            }
        }
        Ok(())
    }

    /// The folder of an app.
    pub(super) fn app(&self, place: usize) -> PathBuf {
        self.root.join(app_name(place))
    }

    /// The same for the learner to read.
    pub(super) fn shown_app(&self, place: usize) -> String {
        self.name.join(app_name(place)).display().to_string()
    }

    fn write_app(&self, place: usize) -> Result<(), String> {
        for (file, text) in Exercise::all()[place].broken(self.language)? {
            write(&self.app(place).join(file), &text)?;
        }
        Ok(())
    }

    /// Writes an app as it came. What the learner changed is kept beside it, with `~` behind
    /// its name.
    pub(super) fn start_over(&self, place: usize) -> Result<Vec<String>, String> {
        let mut kept = Vec::new();
        for (file, text) in Exercise::all()[place].broken(self.language)? {
            let path = self.app(place).join(file);
            let now = fs::read_to_string(&path).unwrap_or_default();
            if now != text {
                let old = format!("{file}~");
                write(&self.app(place).join(&old), &now)?;
                write(&path, &text)?;
                kept.push(old);
            }
        }
        Ok(kept)
    }

    /// A file of the app that is not there any more.
    pub(super) fn missing(&self, place: usize) -> Option<&'static str> {
        let sources = self.language.sources();
        let mut own = sources.filter(|(file, _)| !is_shared(file));
        own.find(|(file, _)| !self.app(place).join(file).is_file())
            .map(|(file, _)| file)
    }
}

/// `01-no-name`.
fn app_name(place: usize) -> String {
    format!("{:02}-{}", place + 1, Exercise::all()[place].id)
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    let folder = path.parent().unwrap_or(path);
    let written = fs::create_dir_all(folder).and_then(|()| fs::write(path, text));
    written.map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_made_gone_on_with_and_started_over_and_nothing_is_lost() {
        let outside = tempfile::tempdir().unwrap();
        let name = outside.path().join("practice");
        let error = |folder: &Path, language| Folder::open(folder, language).err().unwrap();
        assert!(error(outside.path(), None).starts_with("--in: which"));
        let (folder, mut progress, is_new) = Folder::open(&name, Some(Language::Python)).unwrap();
        assert!(is_new && folder.missing(0).is_none());
        let app = folder.app(0).join("app.py");
        assert!(error(&folder.app(0), Some(Language::Python)).contains("exists"));
        progress.entry("cancel").tries = 3;
        progress.write(&folder.root).unwrap();
        fs::write(&app, "mine").unwrap();
        let (folder, again, is_new) = Folder::open(&name, None).unwrap();
        assert_eq!((again, is_new), (progress, false));
        assert_eq!(fs::read_to_string(&app).unwrap(), "mine");
        assert_eq!(folder.start_over(0).unwrap(), ["app.py~"]);
        assert_eq!(
            fs::read_to_string(folder.app(0).join("app.py~")).unwrap(),
            "mine"
        );
        fs::rename(&app, folder.app(0).join("other.py")).unwrap();
        assert_eq!(folder.missing(0), Some("app.py"));
        assert!(error(&name, Some(Language::Javascript)).contains("are in python"));
        fs::write(name.join(FILE_NAME), "{").unwrap();
        assert!(error(&name, None).contains("progress.json: EOF"));
    }
}
