//! The encryption of connections: TLS with a certificate for the host's name.

use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::url::Roots;
use crate::store::error::StoreError;

/// A connector that trusts the authorities of `roots`.
///
/// # Errors
///
/// If there are none, or their file cannot be read.
pub(super) fn connector(roots: &Roots) -> Result<MakeRustlsConnect, StoreError> {
    let roots = match roots {
        Roots::System => of_the_system()?,
        Roots::File(path) => in_file(path)?,
    };
    // Named, because the process has no default one.
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| StoreError::Failed(error.to_string()))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}

fn of_the_system() -> Result<RootCertStore, StoreError> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    match roots.is_empty() {
        false => Ok(roots),
        true => Err(StoreError::Failed(
            "this system has no certificate authorities: name a file of them by sslrootcert in \
             store.url"
                .to_owned(),
        )),
    }
}

fn in_file(path: &Path) -> Result<RootCertStore, StoreError> {
    let failed = |problem: String| {
        let path = path.display();
        StoreError::Failed(format!("{path}, sslrootcert in store.url, {problem}"))
    };
    let text = std::fs::read(path).map_err(|error| failed(format!("cannot be read: {error}")))?;
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(&text) {
        let certificate =
            certificate.map_err(|_| failed("is not a certificate in PEM".to_owned()))?;
        roots
            .add(certificate)
            .map_err(|_| failed("contains a certificate that no server can use".to_owned()))?;
    }
    match roots.is_empty() {
        false => Ok(roots),
        true => Err(failed("contains no certificate in PEM".to_owned())),
    }
}
