//! Slow clients, and users who sign in meanwhile.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use testkit::login::{FLOWS, GITHUB};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use super::nginx::{NAME, Nginx, ProxiedBrokers, StubBroker, StubResponse};

/// A way to hold a connection without finishing a request.
#[derive(Clone, Copy)]
enum Manner {
    /// It sends this in place of a TLS handshake, and no more.
    InClear(&'static [u8]),
    /// It sends this over TLS, and no more.
    Stops(&'static str),
    /// The same, and goes on, a byte at a time.
    Drips(&'static str),
    /// It has its answer, and stays.
    Idle,
}

const HALF_A_HEAD: &str = "GET /livez HTTP/1.1\r\nHost: signin.example\r\nX-Slow: ";
const HALF_A_BODY: &str = "POST /v1/token HTTP/1.1\r\nHost: signin.example\r\n\
     Content-Type: application/json\r\nContent-Length: 30000\r\n\r\n{\"gra";
const WHOLE: &str = "GET /livez HTTP/1.1\r\nHost: signin.example\r\n\r\n";

const MANNERS: [Manner; 8] = [
    Manner::InClear(b""),
    Manner::InClear(&[22, 3, 1, 2, 0, 1]),
    Manner::Stops(""),
    Manner::Stops(HALF_A_HEAD),
    Manner::Drips(HALF_A_HEAD),
    Manner::Stops(HALF_A_BODY),
    Manner::Drips(HALF_A_BODY),
    Manner::Idle,
];

const CLIENTS: usize = 1000;

/// The number of client addresses, so that no address has too many connections.
const ADDRESSES: usize = 20;

/// Longer than every timeout of the shipped configuration.
const FOR_EVER: Duration = Duration::from_secs(120);

// Threats: A37.
#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_slow_clients_are_cut_off_and_delay_no_other_client() {
    rlimit::increase_nofile_limit(u64::MAX).expect("a limit");
    let front = ProxiedBrokers::start().await;
    let connector = Arc::new(Connector::to(&front.nginx));
    let (waiting, mut waits) = unbounded_channel();
    let mut clients = JoinSet::new();
    for number in 0..CLIENTS {
        let (connector, waiting) = (Arc::clone(&connector), waiting.clone());
        clients.spawn(async move { hold(&connector, number, waiting).await });
    }
    drop(waiting);
    let all_wait = async {
        for _ in 0..CLIENTS {
            waits.recv().await.expect("one more holds a connection");
        }
    };
    within_time_limit(all_wait).await;

    let mut signed_in = 0;
    let all_are_cut_off = async {
        while let Some(client) = clients.join_next().await {
            client.expect("it was cut off in order");
        }
    };
    let users_sign_in = async {
        loop {
            for flow in FLOWS {
                front.sign_in(flow, GITHUB).await.is_ada(GITHUB);
                signed_in += 1;
            }
        }
    };
    let end = async {
        tokio::select! {
            () = all_are_cut_off => {}
            () = users_sign_in => {}
        }
    };
    within_time_limit(end).await;
    assert!(signed_in > 0, "no user signed in meanwhile");
}

/// Fails for a wait without an end.
#[expect(
    clippy::disallowed_methods,
    reason = "it would hang the test, and no clock of the tests moves nginx's"
)]
async fn within_time_limit(end: impl Future<Output = ()>) {
    let in_time = tokio::time::timeout(FOR_EVER, end).await;
    in_time.expect("it ends");
}

/// Holds a connection in one of the manners until it is cut off, and reports when it
/// begins to wait.
async fn hold(connector: &Connector, number: usize, waiting: UnboundedSender<()>) {
    let manner = MANNERS[number % MANNERS.len()];
    let host = u8::try_from(number / MANNERS.len() % ADDRESSES).expect("a small number") + 2;
    let mut bare = connect(Ipv4Addr::new(127, 0, 2, host), connector.server).await;
    match manner {
        Manner::InClear(bytes) => {
            bare.write_all(bytes).await.expect("it reads");
            wait(&mut bare, &waiting).await;
        }
        Manner::Stops(text) => wait(&mut connector.send(bare, text).await, &waiting).await,
        Manner::Drips(text) => drip(&mut connector.send(bare, text).await, &waiting).await,
        Manner::Idle => {
            let mut stream = connector.send(bare, WHOLE).await;
            stream.read_u8().await.expect("an answer");
            wait(&mut stream, &waiting).await;
        }
    }
}

async fn connect(from: Ipv4Addr, server: SocketAddr) -> TcpStream {
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.bind((from, 0).into()).expect("an address of ours");
    socket.connect(server).await.expect("it listens")
}

/// Sends nothing more, and waits for the end.
async fn wait<S: AsyncRead + Unpin>(stream: &mut S, waiting: &UnboundedSender<()>) {
    waiting.send(()).expect("the test counts");
    // A client that is cut off does not always get an orderly close.
    let _ = stream.read_to_end(&mut Vec::new()).await;
}

/// Sends a byte each second until the end.
async fn drip<S: AsyncRead + AsyncWrite + Unpin>(stream: &mut S, waiting: &UnboundedSender<()>) {
    let (mut reads, mut writes) = tokio::io::split(stream);
    tokio::select! {
        () = drop_by_drop(&mut writes) => {}
        () = wait(&mut reads, waiting) => {}
    }
}

/// Writes a byte each second, until the server accepts no more.
#[expect(
    clippy::disallowed_methods,
    reason = "a client that drips is made of waiting"
)]
async fn drop_by_drop<S: AsyncWrite + Unpin>(stream: &mut S) {
    while stream.write_all(b" ").await.is_ok() && stream.flush().await.is_ok() {
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

/// More answers than the system keeps for a client that reads none.
const UNREAD: usize = 400;

// Threats: A37.
#[tokio::test]
async fn a_client_that_reads_no_response_is_cut_off() {
    let front = ProxiedBrokers::start().await;
    let connector = Connector::to(&front.nginx);
    let bare = connect(Ipv4Addr::LOCALHOST, connector.server).await;
    let request = format!("GET /openapi.json HTTP/1.1\r\nHost: {NAME}\r\n\r\n");
    let mut stream = connector.send(bare, &request.repeat(UNREAD)).await;
    within_time_limit(drop_by_drop(&mut stream)).await;
    let read = stream.read_to_end(&mut Vec::new()).await;
    assert!(read.is_err(), "the answers did not all fit: {read:?}");
}

/// Requests that may be under way from one address.
const UNDER_WAY: usize = 100;

// Threats: A39.
#[tokio::test]
async fn nginx_limits_the_concurrent_requests_of_an_address() {
    let (broker, nginx) = StubBroker::behind_nginx(StubResponse::Waits).await;
    let (here, there) = (nginx.http(), nginx.http_from([127, 0, 0, 2]));
    let mut waiting = JoinSet::new();
    for _ in 0..UNDER_WAY {
        waiting.spawn(here.get(nginx.url("/readyz")).send());
    }
    within_time_limit(broker.wait_for_requests(UNDER_WAY)).await;
    let later = here.get(nginx.url("/readyz")).send().await;
    let retry_after = later.header("retry-after");
    assert_eq!((later.status, retry_after), (429, Some("1")));
    let text = later.text();
    assert!(text.contains("too many requests"), "{text}");
    waiting.spawn(there.get(nginx.url("/readyz")).send());
    within_time_limit(broker.wait_for_requests(UNDER_WAY + 1)).await;
}

/// Opens TLS connections to one nginx.
struct Connector {
    server: SocketAddr,
    connector: TlsConnector,
}

impl Connector {
    fn to(nginx: &Nginx) -> Self {
        let mut roots = RootCertStore::empty();
        let root = nginx.certificate.clone();
        roots.add(root).expect("a certificate");
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("the provider knows them")
            .with_root_certificates(roots)
            .with_no_client_auth();
        Self {
            server: nginx.https,
            connector: Arc::new(config).into(),
        }
    }

    /// Encrypts a connection, and sends this over it.
    async fn send(&self, bare: TcpStream, text: &str) -> TlsStream<TcpStream> {
        let name = NAME.try_into().expect("a name");
        let stream = self.connector.connect(name, bare).await;
        let mut stream = stream.expect("a handshake");
        let sent = stream.write_all(text.as_bytes()).await;
        sent.expect("it reads");
        stream.flush().await.expect("it reads");
        stream
    }
}
