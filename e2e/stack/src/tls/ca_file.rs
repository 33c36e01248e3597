//! The file with the certificate of an authority, for clients that take a path.

use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// A file with a certificate. It is deleted when this is dropped, unless the user chose
/// its path.
#[derive(Debug)]
pub(super) struct CaFile {
    /// Its absolute path.
    pub(super) path: PathBuf,
    _folder: Option<TempDir>,
}

impl CaFile {
    /// Writes `pem` to `path`, or to a new folder that only this user can read.
    pub(super) fn write(pem: &str, path: Option<&Path>) -> io::Result<Self> {
        let (path, folder) = match path {
            Some(path) => (std::path::absolute(path)?, None),
            None => {
                let folder = tempfile::Builder::new()
                    .prefix("sign-in-stack-")
                    .permissions(Permissions::from_mode(0o700))
                    .tempdir()?;
                (folder.path().join("ca.pem"), Some(folder))
            }
        };
        std::fs::write(&path, pem)?;
        Ok(Self {
            path,
            _folder: folder,
        })
    }
}
