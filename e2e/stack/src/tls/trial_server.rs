//! A TLS server with which a client is tried: in front of a broker, with one certificate at a
//! time, three of which a client must refuse.

use std::io::{self, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustls::ServerConfig;
use tempfile::NamedTempFile;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;
use url::{Host, Url};

use super::authority::{issuer, over, server, valid_from_now};
use super::front::{HANDSHAKE_RECORD, connect};
use crate::accept::Accepting;

/// The bytes of a request of which its first line is read.
const FIRST_BYTES: usize = 16 * 1024;

/// The time in which a client that was made to call has tried to connect.
const CONNECT_TIME: Duration = Duration::from_secs(10);

/// The certificate of a server that is called by the name `localhost`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerCertificate {
    /// It is right, and the authority in [`TlsTrialServer::ca_file`] signed it.
    Good,
    /// The same authority signed it, for another name.
    OtherName,
    /// The same authority signed it, and it is over since yesterday.
    Expired,
    /// An authority signed it that no client knows.
    UnknownAuthority,
}

impl ServerCertificate {
    /// Every certificate, the good one first.
    pub const ALL: [Self; 4] = [
        Self::Good,
        Self::OtherName,
        Self::Expired,
        Self::UnknownAuthority,
    ];

    /// The end of a sentence about a certificate: *is for another name*.
    pub fn says(self) -> &'static str {
        match self {
            Self::Good => "is right",
            Self::OtherName => "is for another name",
            Self::Expired => "is over since yesterday",
            Self::UnknownAuthority => "no known authority has signed",
        }
    }
}

/// A running server. Dropping it closes its listener and every connection.
#[derive(Debug)]
pub struct TlsTrialServer {
    port: u16,
    ca: NamedTempFile,
    presented: watch::Sender<ServerCertificate>,
    seen: Arc<watch::Sender<Seen>>,
    _accepting: Accepting,
}

/// The connections on which a client spoke first: the certificate, and the first line of a
/// request, if one came.
type Seen = Vec<(ServerCertificate, Option<String>)>;

impl TlsTrialServer {
    /// A server on a free port of this machine, in front of the plain one at the origin
    /// `target`. It presents the good certificate.
    ///
    /// # Errors
    ///
    /// If `target` has no address, no port is free, or the authority's file cannot be written.
    pub fn start(target: &str) -> io::Result<Self> {
        let target = Url::parse(target).map_err(io::Error::other)?;
        let target = target.socket_addrs(|| None)?.into_iter().next();
        let target = target.ok_or(io::ErrorKind::AddrNotAvailable)?;
        let named = |name: &str| Host::Domain(name.to_owned());
        let (own, other) = ([named("localhost")], [named("another.test")]);
        let authority = issuer(&[own.clone(), other.clone()].concat());
        let servers = [
            server(&authority, &own, valid_from_now()),
            server(&authority, &other, valid_from_now()),
            server(&authority, &own, over()),
            server(&issuer(&own), &own, valid_from_now()),
        ];
        let mut ca = NamedTempFile::with_suffix(".pem")?;
        ca.write_all(authority.pem().as_bytes())?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let port = listener.local_addr()?.port();
        let (presented, receiver) = watch::channel(ServerCertificate::Good);
        let seen = Arc::new(watch::Sender::default());
        let record = seen.clone();
        let serve = move |client| {
            let certificate = *receiver.borrow();
            let connection = Connection {
                certificate,
                server: servers[certificate as usize].clone(),
                target,
                seen: record.clone(),
            };
            let mut changes = receiver.clone();
            async move {
                // A connection that a client keeps must not outlive its certificate's turn.
                tokio::select! {
                    _ = changes.wait_for(|it| *it != certificate) => Ok(()),
                    ended = connection.serve(client) => ended,
                }
            }
        };
        Ok(Self {
            port,
            ca,
            presented,
            seen,
            _accepting: Accepting::start(listener, serve)?,
        })
    }

    /// Its origin: `https://localhost:4433`.
    pub fn origin(&self) -> String {
        format!("https://localhost:{}", self.port)
    }

    /// The file with the certificate of the authority.
    pub fn ca_file(&self) -> &Path {
        self.ca.path()
    }

    /// Presents this certificate from now on, and closes every connection of another.
    pub fn present(&self, certificate: ServerCertificate) {
        self.presented.send_replace(certificate);
    }

    /// The first line of the last request under this certificate, without the version; `Some(None)`
    /// if its clients sent nothing but their part of the handshake. Waits a few seconds for a
    /// client that speaks.
    #[expect(
        clippy::disallowed_methods,
        reason = "a client that never connects signals nothing"
    )]
    pub async fn seen(&self, certificate: ServerCertificate) -> Option<Option<String>> {
        let mut seen = self.seen.subscribe();
        let is_own = |(its, _): &&(ServerCertificate, _)| *its == certificate;
        let has_own = |seen: &Seen| seen.iter().any(|it| is_own(&it));
        let waited = tokio::time::timeout(CONNECT_TIME, seen.wait_for(has_own));
        let seen = waited.await.ok()?.ok()?;
        let requests = seen.iter().filter(is_own).map(|(_, request)| request);
        Some(requests.flatten().last().cloned())
    }
}

/// One connection.
struct Connection {
    certificate: ServerCertificate,
    server: Arc<ServerConfig>,
    target: SocketAddr,
    seen: Arc<watch::Sender<Seen>>,
}

impl Connection {
    async fn serve(self, mut client: TcpStream) -> io::Result<()> {
        let mut first = [0];
        if client.peek(&mut first).await? == 0 {
            return Ok(());
        }
        let mut bytes = vec![0; FIRST_BYTES];
        if first != [HANDSHAKE_RECORD] {
            // It sends its request in clear text.
            let length = client.read(&mut bytes).await?;
            self.record(&bytes[..length]);
            return Ok(());
        }
        let accepted = TlsAcceptor::from(self.server.clone()).accept(client).await;
        let Ok(mut client) = accepted else {
            self.record(&[]);
            return Ok(());
        };
        // Some clients judge the certificate only when the handshake is done.
        let length = client.read(&mut bytes).await.unwrap_or_default();
        self.record(&bytes[..length]);
        let mut target = TcpStream::connect(self.target).await?;
        target.write_all(&bytes[..length]).await?;
        connect(client, target).await
    }

    fn record(&self, request: &[u8]) {
        let text = String::from_utf8_lossy(request);
        let line = text.lines().next();
        let line = line.map(|it| it.trim_end_matches(" HTTP/1.1").to_owned());
        self.seen
            .send_modify(|seen| seen.push((self.certificate, line)));
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    /// Asks the server, with a client that trusts its authority.
    async fn ask(server: &TlsTrialServer) -> bool {
        let pem = std::fs::read(server.ca_file()).unwrap();
        let authority = reqwest::Certificate::from_pem(&pem).unwrap();
        let client = testkit::http::client_builder().tls_certs_only([authority]);
        let client = client.build().unwrap();
        let url = format!("{}/v1/profile?x=1", server.origin());
        client.get(url).send().await.is_ok()
    }

    #[tokio::test]
    async fn a_client_that_judges_certificates_sends_its_request_under_the_good_one_alone() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let target = listener.local_addr().unwrap();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let answer = b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n";
                stream.write_all(answer).await.unwrap();
            }
        });
        let server = TlsTrialServer::start(&format!("http://{target}")).unwrap();
        for certificate in ServerCertificate::ALL {
            server.present(certificate);
            let is_good = certificate == ServerCertificate::Good;
            assert_eq!(ask(&server).await, is_good, "{certificate:?}");
            let request = is_good.then(|| "GET /v1/profile?x=1".to_owned());
            assert_eq!(
                server.seen(certificate).await,
                Some(request),
                "{certificate:?}"
            );
        }
    }
}
