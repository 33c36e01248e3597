//! Bytes over TLS, for what no HTTP client would send.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use super::nginx::{NAME, Nginx};

/// Opens TLS connections to one nginx.
pub(crate) struct Connector {
    server: SocketAddr,
    connector: TlsConnector,
}

impl Connector {
    pub(crate) fn to(nginx: &Nginx) -> Self {
        let mut roots = RootCertStore::empty();
        let root = nginx.certificate().clone();
        roots.add(root).expect("a certificate");
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("the provider knows them")
            .with_root_certificates(roots)
            .with_no_client_auth();
        Self {
            server: nginx.https(),
            connector: Arc::new(config).into(),
        }
    }

    /// The address of the server.
    pub(crate) fn server(&self) -> SocketAddr {
        self.server
    }

    /// Encrypts a connection.
    pub(crate) async fn encrypt(&self, bare: TcpStream) -> TlsStream<TcpStream> {
        let name = NAME.try_into().expect("a name");
        let stream = self.connector.connect(name, bare).await;
        stream.expect("a handshake")
    }
}
