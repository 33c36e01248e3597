//! Encrypting by itself, for an installation without a proxy.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, crypto::ring};
use serde::Deserialize;

use super::{Config, ConfigError, exposure};

/// The `[tls]` table: PEM files, relative to the configuration file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TlsConfig {
    /// The broker's certificate, then those that lead from it to a root.
    pub certificates: PathBuf,
    /// The private key of the first of them.
    pub key: PathBuf,
}

impl Config {
    /// Checks that the broker could encrypt as it is told to.
    pub(super) fn check_tls(&self) -> Result<(), ConfigError> {
        let Some(tls) = &self.tls else {
            return Ok(());
        };
        if !self.base_url.is_https() {
            return Err(ConfigError::Contradictory(
                "tls is set, but base_url is http: browsers reach an encrypting broker at an \
                 https address",
            ));
        }
        tls.check()?;
        if self.is_local() {
            return Ok(());
        }
        exposure::check_mode(&tls.key, "the private key")
    }
}

impl TlsConfig {
    /// The same with relative paths taken from `folder`.
    pub(super) fn beside(self, folder: &Path) -> Self {
        Self {
            certificates: folder.join(self.certificates),
            key: folder.join(self.key),
        }
    }

    /// Reads both files as the server will.
    fn check(&self) -> Result<(), ConfigError> {
        let chain = self.chain()?;
        let key = PrivateKeyDer::from_pem_file(&self.key)
            .map_err(|error| unusable(&self.key, &error, "private key"))?;
        ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("the provider knows the versions that are safe")
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .map_err(|error| ConfigError::Tls {
                path: self.key.display().to_string(),
                why: format!(
                    "tls.key is not that of the first of tls.certificates ({error}): \
                     the broker's own certificate stands first"
                ),
            })
            .map(drop)
    }

    fn chain(&self) -> Result<Vec<CertificateDer<'static>>, ConfigError> {
        let wrong = |error| unusable(&self.certificates, &error, "certificate");
        let chain: Vec<_> = CertificateDer::pem_file_iter(&self.certificates)
            .and_then(Iterator::collect)
            .map_err(wrong)?;
        if chain.is_empty() {
            return Err(wrong(pem::Error::NoItemsFound));
        }
        Ok(chain)
    }
}

/// What is wrong with a file. Only the system's words are repeated: a parser's may
/// hold a line of a key.
fn unusable(path: &Path, error: &pem::Error, what: &str) -> ConfigError {
    let why = match error {
        pem::Error::Io(error) => format!("cannot be read: {error}"),
        pem::Error::NoItemsFound => format!("holds no {what} in PEM"),
        _ => format!("holds a damaged {what}, or none that is PEM"),
    };
    ConfigError::Tls {
        path: path.display().to_string(),
        why,
    }
}
