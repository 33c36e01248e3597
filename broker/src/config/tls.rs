//! Certificates: the `[tls]` table, for an installation without a proxy, and the certificate
//! authorities of the operator's own.

use std::borrow::Cow;
use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{RootCertStore, ServerConfig, crypto::ring};
use serde::Deserialize;

use super::error::ConfigError;

/// The `[tls]` table: PEM files, relative to the configuration file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TlsConfig {
    /// The broker's certificate, then its chain.
    pub certificates: PathBuf,
    /// The private key of the first certificate.
    pub key: PathBuf,
}

impl TlsConfig {
    /// The same files, with relative paths resolved against `folder`.
    pub(super) fn relative_to(self, folder: &Path) -> Self {
        Self {
            certificates: folder.join(self.certificates),
            key: folder.join(self.key),
        }
    }

    /// Reads both files as the server will.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let chain = self.chain()?;
        let key = PrivateKeyDer::from_pem_file(&self.key)
            .map_err(|error| unusable(self.key.display(), &error, "private key"))?;
        ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("the provider knows the versions that are safe")
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .map_err(|error| ConfigError::Tls {
                path: self.key.display().to_string(),
                why: format!(
                    "tls.key is not the key of the first certificate in tls.certificates \
                     ({error}): the broker's own certificate must come first"
                ),
            })
            .map(drop)
    }

    fn chain(&self) -> Result<Vec<CertificateDer<'static>>, ConfigError> {
        let path = &self.certificates;
        certificates(path.display(), std::fs::read(path))
    }
}

/// The certificates in `pem`, at least one. Errors call it `name`.
fn certificates(
    name: impl Display,
    pem: io::Result<impl AsRef<[u8]>>,
) -> Result<Vec<CertificateDer<'static>>, ConfigError> {
    let certificates = pem.map_err(pem::Error::Io).and_then(|pem| {
        let all: Vec<_> = CertificateDer::pem_slice_iter(pem.as_ref()).collect::<Result<_, _>>()?;
        match all.is_empty() {
            true => Err(pem::Error::NoItemsFound),
            false => Ok(all),
        }
    });
    certificates.map_err(|error| unusable(name, &error, "certificate"))
}

/// The error for a file. Only the system's error is repeated: a parser's may contain a
/// line of a key.
fn unusable(name: impl Display, error: &pem::Error, what: &str) -> ConfigError {
    let why = match error {
        pem::Error::Io(error) => format!("cannot be read: {error}"),
        pem::Error::NoItemsFound => format!("holds no {what} in PEM"),
        _ => format!("holds a damaged {what}, or none that is PEM"),
    };
    ConfigError::Tls {
        path: name.to_string(),
        why,
    }
}

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
        let certificates = certificates(self.name(), self.pem())?;
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
