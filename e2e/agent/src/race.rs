//! Requests that servers receive at one moment. Their connections are open and were used
//! before; of each request all but the last byte is sent, and then the last bytes of all.

use std::error::Error;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use futures_util::future::join_all;
use http_body_util::{BodyExt as _, Limited};
use hyper::Uri;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{HOST, HeaderValue};
use hyper_util::rt::TokioIo;
use reqwest::{Body, Request};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, DuplexStream};
use tokio::io::{copy, duplex, split};
use tokio::net::{TcpStream, lookup_host};
use tokio::sync::{Semaphore, watch};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};
use url::{Position, Url};

use crate::http::{HttpError, Response};
use crate::time::within;
use crate::url::path_and_query;

/// The time in which an address must accept a connection, and a request must be on its way.
const CONNECT_LIMIT: Duration = Duration::from_secs(5);

/// The longest request, and the longest response that is read.
const MAX_BYTES: usize = 256 * 1024;

/// One address of a server.
#[derive(Debug, Clone)]
pub struct Endpoint {
    url: Url,
    address: SocketAddr,
}

/// A request of a race.
#[derive(Debug)]
pub struct Racer {
    /// The request; it is sent to an endpoint, whatever the host in its URL is.
    pub request: Request,
    /// The request that follows on the same connection as soon as that one is answered.
    pub then: Option<Request>,
}

/// The responses to a racer: one, or with [`Racer::then`] two.
pub type Responses = Result<Vec<Response>, HttpError>;

/// The connections of races, spread evenly over the endpoints. They are kept for the next
/// race, and opened again when a server has closed them.
pub struct Connections {
    /// The endpoints.
    pub endpoints: Vec<Endpoint>,
    open: Vec<Option<SendRequest<Body>>>,
    warm_up: Request,
    timeout: Duration,
    gate: Gate,
}

/// Holds the last bytes of the requests of a race.
#[derive(Clone)]
struct Gate {
    is_closed: watch::Sender<bool>,
    /// Has a permit for each byte that is held.
    held: Arc<Semaphore>,
}

trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<S: AsyncRead + AsyncWrite + Unpin + Send> Stream for S {}

impl Endpoint {
    /// The addresses that the host of `base_url` resolves to and that accept connections.
    ///
    /// # Errors
    ///
    /// If there is none.
    pub async fn all_of(base_url: &str) -> Result<Vec<Self>, HttpError> {
        let url = Url::parse(base_url).map_err(|error| no_connection(&error))?;
        let (host, port) = (url.host_str(), url.port_or_known_default());
        let resolve = format!("{}:{}", host.unwrap_or_default(), port.unwrap_or_default());
        let resolved = lookup_host(resolve).await;
        let mut last = HttpError::NoConnection("the host has no address".to_owned());
        let mut found: Vec<Self> = Vec::new();
        for address in resolved.map_err(|error| no_connection(&error))? {
            let url = url.clone();
            let endpoint = Self { url, address };
            match endpoint.connect().await {
                _ if found.iter().any(|it| it.address == address) => {}
                Ok(_) => found.push(endpoint),
                Err(error) => last = error,
            }
        }
        match found.is_empty() {
            true => Err(last),
            false => Ok(found),
        }
    }

    async fn connect(&self) -> Result<Box<dyn Stream>, HttpError> {
        let tcp = within(CONNECT_LIMIT, TcpStream::connect(self.address)).await;
        let tcp = tcp.ok_or(HttpError::NoAnswer)?;
        let tcp = tcp.map_err(|error| no_connection(&error))?;
        tcp.set_nodelay(true)
            .map_err(|error| no_connection(&error))?;
        if self.url.scheme() != "https" {
            return Ok(Box::new(tcp));
        }
        // A URL has an IPv6 address in brackets.
        let host = self.url.host_str().unwrap_or_default();
        let name = ServerName::try_from(host.trim_matches(['[', ']']).to_owned());
        let name = name.map_err(|error| no_connection(&error))?;
        let tls = TlsConnector::from(TLS.clone()?).connect(name, tcp).await;
        Ok(Box::new(tls.map_err(|error| no_connection(&error))?))
    }

    /// Sends a request, and reads its response to the end.
    async fn exchange(
        &self,
        sender: &mut SendRequest<Body>,
        request: &Request,
    ) -> Result<Response, HttpError> {
        let unsendable = |error: &dyn Error| HttpError::Unsendable(error.to_string());
        let url = request.url().clone();
        let request = request.try_clone();
        let request = request.ok_or(HttpError::Unsendable("it has a stream".to_owned()))?;
        let request = hyper::Request::try_from(request);
        let mut request = request.map_err(|error| unsendable(&error))?;
        let path = path_and_query(&url).parse::<Uri>();
        *request.uri_mut() = path.map_err(|error| unsendable(&error))?;
        let authority = &self.url[Position::BeforeHost..Position::AfterPort];
        let authority = HeaderValue::from_str(authority);
        let authority = authority.map_err(|error| unsendable(&error))?;
        request.headers_mut().insert(HOST, authority);
        let response = sender.send_request(request).await;
        let (head, body) = response.map_err(|error| broken_off(&error))?.into_parts();
        let body = Limited::new(body, MAX_BYTES).collect().await;
        let body = body.map_err(|error| HttpError::BrokenOff(error.to_string()))?;
        Ok(Response {
            url,
            status: head.status.as_u16(),
            headers: head.headers,
            body: body.to_bytes().into(),
        })
    }
}

/// Trusts the certificates of the machine, which are read once.
static TLS: LazyLock<Result<Arc<ClientConfig>, HttpError>> = LazyLock::new(|| {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    // Named, because the process has no default one.
    let config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| no_connection(&error))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Arc::new(config))
});

impl Connections {
    /// Connections to `endpoints`, of which there is at least one. Each begins with a request
    /// `warm_up`, which changes nothing, and has `timeout` for a race.
    pub fn new(endpoints: Vec<Endpoint>, warm_up: Request, timeout: Duration) -> Self {
        Self {
            endpoints,
            open: Vec::new(),
            warm_up,
            timeout,
            gate: Gate::open(),
        }
    }

    /// Sends the requests of `racers` at once. Returns the responses to each, with the address
    /// from which they came.
    pub async fn send_at_once(&mut self, racers: &[Racer]) -> Vec<(SocketAddr, Responses)> {
        if self.open.len() < racers.len() {
            self.open.resize_with(racers.len(), || None);
        }
        let (gate, warm_up, timeout) = (&self.gate, &self.warm_up, self.timeout);
        let slots = self.open.iter_mut().zip(self.endpoints.iter().cycle());
        let ready = slots.zip(racers).map(async |((slot, endpoint), racer)| {
            let sender = within(timeout, gate.ready(slot, endpoint, warm_up)).await;
            (endpoint, racer, sender.unwrap_or(Err(HttpError::NoAnswer)))
        });
        let ready = join_all(ready).await;
        let count = ready.iter().filter(|(_, _, sender)| sender.is_ok()).count();
        gate.close();
        let answers = ready.into_iter().map(async |(endpoint, racer, sender)| {
            let exchanges = async {
                let sender = sender?;
                let mut responses = vec![endpoint.exchange(sender, &racer.request).await?];
                if let (Some(then), Ok(())) = (&racer.then, sender.ready().await) {
                    responses.push(endpoint.exchange(sender, then).await?);
                }
                Ok(responses)
            };
            let responses = within(timeout, exchanges).await;
            let responses = responses.unwrap_or(Err(HttpError::NoAnswer));
            (endpoint.address, responses)
        });
        let (answers, ()) = tokio::join!(join_all(answers), gate.open_when_held(count));
        for (slot, (_, answer)) in self.open.iter_mut().zip(&answers) {
            slot.take_if(|_| answer.is_err());
        }
        answers
    }
}

impl Gate {
    fn open() -> Self {
        Self {
            is_closed: watch::Sender::new(false),
            held: Arc::new(Semaphore::new(0)),
        }
    }

    fn close(&self) {
        self.held.forget_permits(usize::MAX);
        self.is_closed.send_replace(true);
    }

    /// Opens when so many bytes are held; one whose connection breaks is not waited for long.
    async fn open_when_held(&self, count: usize) {
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        let _ = within(CONNECT_LIMIT, self.held.acquire_many(count)).await;
        self.is_closed.send_replace(false);
    }

    /// A connection that takes a request now. If it must be opened for that, it is used once.
    async fn ready<'s>(
        &self,
        slot: &'s mut Option<SendRequest<Body>>,
        endpoint: &Endpoint,
        warm_up: &Request,
    ) -> Result<&'s mut SendRequest<Body>, HttpError> {
        if let Some(sender) = slot
            && sender.ready().await.is_err()
        {
            *slot = None;
        }
        if slot.is_none() {
            let mut sender = self.connection(endpoint).await?;
            endpoint.exchange(&mut sender, warm_up).await?;
            if sender.ready().await.is_err() {
                // This server answers one request on each connection.
                sender = self.connection(endpoint).await?;
            }
            *slot = Some(sender);
        }
        slot.as_mut().ok_or(HttpError::NoAnswer)
    }

    /// A new connection, through the gate.
    async fn connection(&self, endpoint: &Endpoint) -> Result<SendRequest<Body>, HttpError> {
        let (near, far) = duplex(MAX_BYTES);
        let handshake = handshake(TokioIo::new(near)).await;
        let (sender, connection) = handshake.map_err(|error| broken_off(&error))?;
        tokio::spawn(connection);
        tokio::spawn(self.clone().forward(far, endpoint.connect().await?));
        Ok(sender)
    }

    /// Forwards what the client sends, and while the gate is closed all of it but the last
    /// byte; and what the server answers.
    async fn forward(self, client: DuplexStream, server: Box<dyn Stream>) -> io::Result<()> {
        let (mut from_client, mut to_client) = split(client);
        let (mut from_server, mut to_server) = split(server);
        let requests = async {
            let mut is_closed = self.is_closed.subscribe();
            let mut bytes = Vec::with_capacity(MAX_BYTES);
            while from_client.read_buf(&mut bytes).await? > 0 {
                if *is_closed.borrow_and_update() {
                    let last = bytes.split_off(bytes.len() - 1);
                    to_server.write_all(&bytes).await?;
                    to_server.flush().await?;
                    self.held.add_permits(1);
                    let _ = is_closed.wait_for(|it| !it).await;
                    bytes.truncate(0);
                    bytes.extend(last);
                }
                to_server.write_all(&bytes).await?;
                to_server.flush().await?;
                bytes.clear();
            }
            Ok(())
        };
        tokio::select! {
            ended = requests => ended,
            ended = copy(&mut from_server, &mut to_client) => ended.map(drop),
        }
    }
}

fn no_connection(error: &dyn Error) -> HttpError {
    HttpError::NoConnection(error.to_string())
}

fn broken_off(error: &hyper::Error) -> HttpError {
    HttpError::BrokenOff(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt as _;
    use reqwest::Method;
    use tokio::net::TcpListener;

    const LIMIT: Duration = Duration::from_secs(30);

    #[tokio::test]
    async fn the_last_byte_of_a_request_is_held_until_the_gate_opens() {
        let gate = Gate::open();
        gate.close();
        let (mut client, near) = duplex(64);
        let (far, mut server) = duplex(64);
        tokio::spawn(gate.clone().forward(near, Box::new(far)));
        client.write_all(b"request").await.unwrap();
        let held = gate.held.acquire().await.unwrap();
        let mut received = [0; 6];
        server.read_exact(&mut received).await.unwrap();
        assert_eq!(&received, b"reques");
        for _ in 0..100 {
            tokio::task::yield_now().await;
            assert!(server.read_u8().now_or_never().is_none());
        }
        drop(held);
        gate.open_when_held(1).await;
        assert_eq!(server.read_u8().await.unwrap(), b't');
        client.write_all(b"!").await.unwrap();
        assert_eq!(server.read_u8().await.unwrap(), b'!');
    }

    fn get(path: &str) -> Request {
        let url = format!("http://broker.example{path}").parse().unwrap();
        Request::new(Method::GET, url)
    }

    /// Reads one request to its end and returns its path.
    async fn path(stream: &mut TcpStream) -> String {
        let mut text = String::new();
        while !text.ends_with("\r\n\r\n") {
            text.push(stream.read_u8().await.unwrap().into());
        }
        text.split(' ').nth(1).unwrap().to_owned()
    }

    #[tokio::test]
    async fn a_connection_is_kept_until_the_server_closes_it_and_then_opened_again() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let endpoints = Endpoint::all_of(&url).await.unwrap();
        drop(listener.accept().await.unwrap());
        let server = async {
            let mut paths = Vec::new();
            for until in ["/then", "/race"] {
                let mut stream = listener.accept().await.unwrap().0;
                while paths.last().is_none_or(|it| it != until) {
                    let path = path(&mut stream).await;
                    let connection = if path == until { "close" } else { "keep-alive" };
                    let head = format!("connection: {connection}\r\ncontent-length: 5");
                    let response = format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n{}", &path[..5]);
                    stream.write_all(response.as_bytes()).await.unwrap();
                    paths.push(path);
                }
            }
            paths.join(" ")
        };
        let client = async {
            let mut connections = Connections::new(endpoints, get("/warm-up"), LIMIT);
            let mut bodies = String::new();
            for then in [None, Some("/then"), None] {
                let racer = Racer {
                    request: get("/race"),
                    then: then.map(get),
                };
                let (_, responses) = connections.send_at_once(&[racer]).await.remove(0);
                for response in responses.unwrap() {
                    bodies += &String::from_utf8(response.body).unwrap();
                }
            }
            bodies
        };
        let (bodies, paths) = tokio::join!(client, server);
        assert_eq!(paths, "/warm-up /race /race /then /warm-up /race");
        assert_eq!(bodies, "/race/race/then/race");
    }
}
