//! A temporary folder, removed with the test.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

pub(crate) struct Scratch(PathBuf);

impl Scratch {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!(
            "broker-{}-{}",
            std::process::id(),
            NEXT.fetch_add(1, Ordering::Relaxed)
        ));
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Writes a file that only its owner can read, and returns its path.
    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.file(name);
        std::fs::write(&path, text).unwrap();
        self.set_mode(name, 0o600);
        path
    }

    /// Sets the permissions of a file.
    pub(crate) fn set_mode(&self, name: &str, mode: u32) {
        let permissions = Permissions::from_mode(mode);
        std::fs::set_permissions(self.file(name), permissions).unwrap();
    }

    /// The names and contents of the files whose names begin with `start`.
    pub(crate) fn read_all(&self, start: &str) -> Vec<(String, Vec<u8>)> {
        self.all(start)
            .map(|(name, path)| (name, std::fs::read(path).unwrap()))
            .collect()
    }

    /// Removes the files whose names begin with `start`.
    pub(crate) fn remove_all(&self, start: &str) {
        self.all(start)
            .for_each(|(_, path)| std::fs::remove_file(path).unwrap());
    }

    fn all(&self, start: &str) -> impl Iterator<Item = (String, PathBuf)> {
        std::fs::read_dir(&self.0)
            .unwrap()
            .map(|entry| entry.unwrap())
            .map(|entry| (entry.file_name().into_string().unwrap(), entry.path()))
            .filter(move |(name, _)| name.starts_with(start))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A file may still be open elsewhere.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
