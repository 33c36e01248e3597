//! TLS for the servers of a stack: the certificate authority to trust, its file, and the
//! front that each server listens behind.
//!
//! The servers themselves speak plain HTTP on loopback, as a broker does behind nginx, so
//! that nothing in them differs from a stack without TLS.
//!
//! TLS judges validity by the system's time. The [`StackClock`](crate::StackClock) does
//! not reach it: a stack whose clock is a year ahead has a certificate that is valid
//! today.

mod authority;
mod front;
mod trial_server;

use std::fs::{File, Permissions};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rustls::ServerConfig;
use tempfile::{NamedTempFile, TempDir};
use url::Host;

use crate::settings::StackStartError;
use authority::CertificateAuthority;

pub(crate) use front::TlsFront;
pub use trial_server::{ServerCertificate, TlsTrialServer};

/// The authority of a stack and its sandboxes, made on first need. Clones share it.
#[derive(Debug, Clone)]
pub(crate) struct SharedAuthority(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    hosts: Vec<Host>,
    path: Option<PathBuf>,
    made: Mutex<Option<Arc<StackTls>>>,
}

/// The TLS of running servers: their certificate, and the authority to trust for it.
#[derive(Debug)]
pub(crate) struct StackTls {
    authority: CertificateAuthority,
    file: CaFile,
}

impl SharedAuthority {
    /// An authority for loopback and `more` hosts, whose certificate is written to
    /// `path`; without one, to a temporary folder.
    pub(crate) fn new(more: impl IntoIterator<Item = Host>, path: Option<PathBuf>) -> Self {
        let mut hosts = vec![
            Host::Domain("localhost".to_owned()),
            Host::Ipv4(Ipv4Addr::LOCALHOST),
            Host::Ipv6(Ipv6Addr::LOCALHOST),
        ];
        for host in more {
            if !hosts.contains(&host) {
                hosts.push(host);
            }
        }
        Self(Arc::new(Inner {
            hosts,
            path,
            made: Mutex::default(),
        }))
    }

    /// Makes the authority and writes its file, if it does not exist yet.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    pub(crate) fn get(&self) -> Result<Arc<StackTls>, StackStartError> {
        let Inner { hosts, path, made } = &*self.0;
        let mut made = made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(made) = &*made {
            return Ok(made.clone());
        }
        let authority = CertificateAuthority::new(hosts);
        let file = CaFile::write(&authority.pem, path.as_deref()).map_err(|source| {
            StackStartError::CaFile {
                path: path.clone(),
                source,
            }
        })?;
        Ok(made.insert(Arc::new(StackTls { authority, file })).clone())
    }
}

impl StackTls {
    /// The authority's certificate.
    pub(crate) fn ca_pem(&self) -> &str {
        &self.authority.pem
    }

    /// The file with that certificate.
    pub(crate) fn ca_file(&self) -> &Path {
        &self.file.path
    }

    /// The settings of a server with the certificate that the authority signed.
    pub(crate) fn server(&self) -> Arc<ServerConfig> {
        self.authority.server.clone()
    }
}

/// The first line of the files that are ours to replace.
const FIRST_LINE: &[u8] = b"-----BEGIN CERTIFICATE-----";

/// A file with a certificate, readable by everyone. It is deleted when this is dropped, unless the user chose
/// its path.
#[derive(Debug)]
struct CaFile {
    /// Its absolute path.
    path: PathBuf,
    _folder: Option<TempDir>,
}

impl CaFile {
    /// Writes `pem` to `path`, or to a new folder that only this user can read.
    fn write(pem: &str, path: Option<&Path>) -> io::Result<Self> {
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
        replace(&path, pem)?;
        Ok(Self {
            path,
            _folder: folder,
        })
    }
}

/// Writes a new file and puts it in the place of the old one, so that no client reads half
/// of it and no link is followed.
fn replace(path: &Path, pem: &str) -> io::Result<()> {
    check_replaceable(path)?;
    let folder = path.parent().unwrap_or(Path::new("/"));
    let mut file = NamedTempFile::new_in(folder)?;
    file.write_all(pem.as_bytes())?;
    let readable = Permissions::from_mode(0o644);
    file.as_file().set_permissions(readable)?;
    file.persist(path).map(drop).map_err(|error| error.error)
}

/// Refuses to replace what holds no certificate: a path that was mistyped may be that of
/// a key.
fn check_replaceable(path: &Path) -> io::Result<()> {
    let refused = |why| Err(io::Error::new(ErrorKind::AlreadyExists, why));
    match path.symlink_metadata() {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
        // To open a pipe is to wait for its other end.
        Ok(existing) if !existing.is_file() => refused("it exists and is no regular file"),
        Ok(_) => {
            let mut start = Vec::new();
            let length = FIRST_LINE.len() as u64;
            File::open(path)?.take(length).read_to_end(&mut start)?;
            match start.is_empty() || start == FIRST_LINE {
                true => Ok(()),
                false => refused("it exists and holds no certificate"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "-----BEGIN CERTIFICATE-----\nold";
    const NEW: &str = "-----BEGIN CERTIFICATE-----\nnew";

    #[test]
    fn a_certificate_of_an_earlier_start_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ca.pem");
        for before in [None, Some(""), Some(OLD)] {
            if let Some(before) = before {
                std::fs::write(&path, before).unwrap();
            }
            CaFile::write(NEW, Some(&path)).unwrap();
            assert_eq!(std::fs::read_to_string(&path).unwrap(), NEW);
            let mode = path.metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o644, "whatever the umask");
        }
        assert_eq!(folder.path().read_dir().unwrap().count(), 1);
    }

    #[test]
    fn a_file_that_holds_no_certificate_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let key = folder.path().join("key.pem");
        std::fs::write(&key, "-----BEGIN PRIVATE KEY-----").unwrap();
        let link = folder.path().join("link.pem");
        std::os::unix::fs::symlink(&key, &link).unwrap();
        for path in [key.as_path(), &link, folder.path()] {
            assert!(CaFile::write(NEW, Some(path)).is_err(), "{path:?}");
        }
        let kept = std::fs::read_to_string(&key).unwrap();
        assert_eq!(kept, "-----BEGIN PRIVATE KEY-----");
    }
}
