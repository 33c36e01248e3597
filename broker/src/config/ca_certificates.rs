//! Certificate authorities of the operator's own.

use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};

use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use serde::Deserialize;

use super::error::ConfigError;
use super::tls;

/// The size limit of a file, several times that of all public authorities' together.
const MAX_BYTES: u64 = 1024 * 1024;

/// `upstream.ca_file`: certificates in PEM of the authorities that are trusted for the
/// providers' servers besides the system's.
#[derive(Debug, Clone, Deserialize)]
#[serde(from = "PathBuf")]
pub enum CaCertificates {
    /// A file, relative to the configuration file.
    File(PathBuf),
    /// The PEM itself, of a broker that is configured in code.
    Pem(String),
}

impl CaCertificates {
    /// The same file, with a relative path resolved against `folder`.
    pub(super) fn relative_to(self, folder: &Path) -> Self {
        match self {
            Self::File(path) => Self::File(folder.join(path)),
            pem @ Self::Pem(_) => pem,
        }
    }

    /// Reads the certificates, at least one.
    pub(crate) fn read(&self) -> Result<Vec<CertificateDer<'static>>, ConfigError> {
        let certificates = tls::certificates(self.name(), self.pem())?;
        let mut roots = RootCertStore::empty();
        for certificate in &certificates {
            let added = roots.add(certificate.clone());
            added.map_err(|_| ConfigError::Tls {
                path: self.name(),
                why: "holds a damaged certificate".to_owned(),
            })?;
        }
        Ok(certificates)
    }

    fn pem(&self) -> io::Result<Cow<'_, [u8]>> {
        match self {
            Self::File(path) => read_regular(path).map(Cow::Owned),
            Self::Pem(pem) => Ok(Cow::Borrowed(pem.as_bytes())),
        }
    }

    /// The key of the configuration with its file, for error messages.
    fn name(&self) -> String {
        match self {
            Self::File(path) => format!("upstream.ca_file {}", path.display()),
            Self::Pem(_) => "upstream.ca_file".to_owned(),
        }
    }
}

impl From<PathBuf> for CaCertificates {
    fn from(path: PathBuf) -> Self {
        Self::File(path)
    }
}

/// Reads a file of a plausible size: a pipe would wait, a device would never end.
fn read_regular(path: &Path) -> io::Result<Vec<u8>> {
    let metadata = path.metadata()?;
    match metadata.is_file() && metadata.len() <= MAX_BYTES {
        true => std::fs::read(path),
        false => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is no regular file of at most 1 MiB",
        )),
    }
}
