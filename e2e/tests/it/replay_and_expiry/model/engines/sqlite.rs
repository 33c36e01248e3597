//! The embedded engine: files in a folder that goes when the test does.

use std::fs;
use std::path::PathBuf;

use broker::store::StoreUrl;

use super::next;
use crate::replay_and_expiry::model::fixture::Database;

/// A folder of databases, gone with this value.
pub(in super::super) struct Folder(PathBuf);

impl Folder {
    pub(in super::super) fn new() -> Self {
        let name = format!("model-{}-{}", std::process::id(), next());
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::create_dir_all(&folder).expect("a folder");
        Self(folder)
    }

    /// One more file.
    pub(in super::super) fn database(&self) -> Database {
        let file = self.0.join(format!("{}.db", next()));
        Database {
            store: StoreUrl::SqliteFile(file),
            cookie_keys: Vec::new(),
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
