//! A front between a client of TLS and a server that the test plays.

use std::net::Ipv4Addr;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpListener;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream as ClientStream;
use url::Host;

use super::*;
use crate::tls::authority::CertificateAuthority;

/// A front before a listener of the test.
struct TestFront {
    front: TlsFront,
    address: SocketAddr,
    behind: TcpListener,
    authority: CertificateAuthority,
}

impl TestFront {
    async fn start() -> Self {
        Self::with_handshake_time(HANDSHAKE_TIME).await
    }

    async fn with_handshake_time(handshake_time: Duration) -> Self {
        let authority = CertificateAuthority::new(&[Host::Ipv4(Ipv4Addr::LOCALHOST)]);
        let behind = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let forward = Forward {
            acceptor: TlsAcceptor::from(authority.server.clone()),
            handshake_time,
            target: behind.local_addr().unwrap(),
        };
        Self {
            front: TlsFront::start_with(listener, forward).unwrap(),
            address,
            behind,
            authority,
        }
    }

    /// A client that trusts the authority and speaks `protocols`.
    async fn connect(&self, protocols: &[&str]) -> io::Result<ClientStream<TcpStream>> {
        let mut roots = RootCertStore::empty();
        let ca = CertificateDer::from_pem_slice(self.authority.pem.as_bytes()).unwrap();
        roots.add(ca).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = protocols.iter().map(|it| it.as_bytes().to_vec()).collect();
        let name = ServerName::try_from("127.0.0.1").unwrap();
        let stream = TcpStream::connect(self.address).await?;
        TlsConnector::from(Arc::new(config))
            .connect(name, stream)
            .await
    }

    /// Both ends of a connection: the client's and the server's.
    async fn connection(&self) -> (ClientStream<TcpStream>, TcpStream) {
        let (client, server) = tokio::join!(self.connect(&["http/1.1"]), self.behind.accept());
        (client.unwrap(), server.unwrap().0)
    }
}

async fn read_to_end(from: &mut (impl AsyncRead + Unpin)) -> io::Result<String> {
    let mut text = String::new();
    from.read_to_string(&mut text).await?;
    Ok(text)
}

#[tokio::test]
async fn an_orderly_end_of_the_server_is_one_for_the_client() {
    let front = TestFront::start().await;
    let (mut client, mut server) = front.connection().await;
    server.write_all(b"the answer").await.unwrap();
    drop(server);
    // Without `close_notify` this is an error.
    assert_eq!(read_to_end(&mut client).await.unwrap(), "the answer");
}

#[tokio::test]
async fn a_reset_of_the_server_is_a_reset_for_the_client() {
    let front = TestFront::start().await;
    let (mut client, mut server) = front.connection().await;
    server.write_all(b"half").await.unwrap();
    let mut half = [0; 4];
    client.read_exact(&mut half).await.unwrap();
    server.set_zero_linger().unwrap();
    drop(server);
    let broken = read_to_end(&mut client).await.unwrap_err();
    assert_eq!(broken.kind(), ErrorKind::ConnectionReset);
}

#[tokio::test]
async fn a_reset_of_the_client_is_a_reset_for_the_server() {
    let front = TestFront::start().await;
    let (client, mut server) = front.connection().await;
    client.get_ref().0.set_zero_linger().unwrap();
    drop(client);
    let broken = read_to_end(&mut server).await.unwrap_err();
    assert_eq!(broken.kind(), ErrorKind::ConnectionReset);
}

#[tokio::test]
async fn a_client_that_ends_its_half_still_gets_the_answer() {
    let front = TestFront::start().await;
    let (mut client, mut server) = front.connection().await;
    client.write_all(b"the request").await.unwrap();
    client.shutdown().await.unwrap();
    assert_eq!(read_to_end(&mut server).await.unwrap(), "the request");
    server.write_all(b"the answer").await.unwrap();
    drop(server);
    assert_eq!(read_to_end(&mut client).await.unwrap(), "the answer");
}

#[tokio::test]
async fn a_client_that_closes_without_close_notify_ends_its_half() {
    let front = TestFront::start().await;
    let (client, mut server) = front.connection().await;
    let (mut socket, _) = client.into_inner();
    socket.shutdown().await.unwrap();
    assert_eq!(read_to_end(&mut server).await.unwrap(), "");
    server.write_all(b"the answer").await.unwrap();
    drop(server);
    let mut encrypted = Vec::new();
    socket.read_to_end(&mut encrypted).await.expect("no reset");
}

#[tokio::test]
async fn an_answer_arrives_before_the_reset_for_an_unread_request() {
    let front = TestFront::start().await;
    let (mut client, mut server) = front.connection().await;
    client.write_all(b"a request").await.unwrap();
    assert_eq!(server.read_u8().await.unwrap(), b'a');
    server.write_all(b"413").await.unwrap();
    // A socket that is closed with unread bytes resets its connection.
    drop(server);
    let mut answer = [0; 3];
    client.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"413");
    let broken = read_to_end(&mut client).await.unwrap_err();
    assert_eq!(broken.kind(), ErrorKind::ConnectionReset);
}

#[tokio::test]
async fn large_bodies_pass_unchanged_in_both_directions() {
    let front = TestFront::start().await;
    let (client, server) = front.connection().await;
    let body: Vec<u8> = (0..3_000_000_u32).map(|it| it.to_le_bytes()[1]).collect();
    let (mut from_server, mut to_server) = tokio::io::split(client);
    let (mut from_client, mut to_client) = server.into_split();
    let echo = async {
        tokio::io::copy(&mut from_client, &mut to_client)
            .await
            .unwrap();
        to_client.shutdown().await.unwrap();
    };
    let send = async {
        to_server.write_all(&body).await.unwrap();
        to_server.shutdown().await.unwrap();
    };
    let mut received = Vec::new();
    let (_, (), read) = tokio::join!(echo, send, from_server.read_to_end(&mut received));
    read.unwrap();
    assert!(received == body);
}

#[tokio::test]
async fn only_http_1_1_is_spoken() {
    let front = TestFront::start().await;
    let client = front.connect(&["h2", "http/1.1"]).await.unwrap();
    assert_eq!(client.get_ref().1.alpn_protocol(), Some(&b"http/1.1"[..]));
    assert!(front.connect(&["h2"]).await.is_err());
    assert!(front.connect(&[]).await.is_ok(), "a client without ALPN");
}

#[tokio::test]
async fn plain_http_gets_a_sentence() {
    let front = TestFront::start().await;
    let mut client = TcpStream::connect(front.address).await.unwrap();
    client
        .write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        .await
        .unwrap();
    let answer = read_to_end(&mut client).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
    assert!(answer.ends_with("use https:// in its URL.\n"), "{answer}");
}

#[tokio::test]
async fn a_client_that_sends_nothing_is_disconnected_after_the_time_limit() {
    let front = TestFront::with_handshake_time(Duration::from_millis(30)).await;
    for greeting in [&b""[..], &[HANDSHAKE_RECORD, 3, 1]] {
        let mut client = TcpStream::connect(front.address).await.unwrap();
        client.write_all(greeting).await.unwrap();
        let mut rest = Vec::new();
        // Unread bytes make it a reset.
        let _ = client.read_to_end(&mut rest).await;
        assert_eq!(rest, b"");
    }
}

#[tokio::test]
async fn a_client_of_a_server_that_does_not_listen_is_reset() {
    let mut front = TestFront::start().await;
    front.behind = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let broken = match front.connect(&[]).await {
        Ok(mut client) => read_to_end(&mut client).await.unwrap_err(),
        Err(broken) => broken,
    };
    assert_eq!(broken.kind(), ErrorKind::ConnectionReset);
}

#[tokio::test]
async fn a_dropped_front_closes_its_listener_and_every_connection() {
    let front = TestFront::start().await;
    let (mut client, mut server) = front.connection().await;
    drop(front.front);
    assert_eq!(read_to_end(&mut server).await.unwrap(), "");
    assert!(read_to_end(&mut client).await.is_err(), "no orderly end");
    assert!(TcpStream::connect(front.address).await.is_err());
}
