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
mod ca_file;
mod front;

use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rustls::ServerConfig;
use url::Host;

use crate::start_error::StackStartError;
use authority::CertificateAuthority;
use ca_file::CaFile;

pub(crate) use front::TlsFront;

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
