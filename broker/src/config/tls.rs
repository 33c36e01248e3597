//! TLS, for an installation without a proxy.

use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, crypto::ring};
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
pub(super) fn certificates(
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
