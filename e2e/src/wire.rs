//! The wire: a proxy in front of the broker that speaks real HTTP/1.1.
//!
//! It owns the broker's public address, so that a new broker can take the place
//! of an old one behind it. Each connection of a client has one connection of its
//! own to the broker; requests and answers pass through as they are, streaming.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, PoisonError, RwLock};

use http_body_util::{Either, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::{Builder as Client, SendRequest};
use hyper::header::{CONNECTION, HeaderMap, HeaderName, TE, TRANSFER_ENCODING, UPGRADE};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Mutex;
use tokio::task::JoinHandle;

/// As many headers as nobody honest sends: what is too much, the broker says.
const MOST_HEADERS: usize = 1000;

/// What comes from the broker, or from the wire itself when there is none.
type Answer = Response<Either<Incoming, Full<Bytes>>>;

/// A running proxy. Dropped, it takes no new connections.
#[derive(Debug)]
pub struct Wire {
    /// Where it listens.
    pub address: SocketAddr,
    target: Target,
    accepting: JoinHandle<()>,
}

/// Where the broker is at the moment.
#[derive(Debug, Clone)]
struct Target(Arc<RwLock<SocketAddr>>);

impl Wire {
    /// Carries what arrives at `listener` to `target`.
    ///
    /// # Errors
    ///
    /// When the listener cannot be used.
    pub fn carry(listener: std::net::TcpListener, target: SocketAddr) -> std::io::Result<Self> {
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let listener = TcpListener::from_std(listener)?;
        let target = Target(Arc::new(RwLock::new(target)));
        let accepting = tokio::spawn(accept(listener, target.clone()));
        Ok(Self {
            address,
            target,
            accepting,
        })
    }

    /// Carries new requests to another broker from now on.
    pub fn retarget(&self, target: SocketAddr) {
        *self
            .target
            .0
            .write()
            .unwrap_or_else(PoisonError::into_inner) = target;
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl Target {
    fn now(&self) -> SocketAddr {
        *self.0.read().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn accept(listener: TcpListener, target: Target) {
    loop {
        let Ok((client, _)) = listener.accept().await else {
            wait_for_descriptors().await;
            continue;
        };
        let _ = client.set_nodelay(true);
        tokio::spawn(serve(client, target.clone()));
    }
}

/// Accepting fails when file descriptors run out, and fails at once again.
#[expect(
    clippy::disallowed_methods,
    reason = "nothing tells when a descriptor is free again"
)]
async fn wait_for_descriptors() {
    tokio::time::sleep(std::time::Duration::from_millis(20)).await;
}

/// Serves one client's connection to its end.
async fn serve(client: TcpStream, target: Target) {
    let lane = Arc::new(Lane {
        target,
        open: Mutex::new(None),
    });
    let service = service_fn(move |request| {
        let lane = lane.clone();
        async move { Ok::<_, Infallible>(lane.carry(request).await) }
    });
    // A client that breaks off is no event of the wire's.
    let _ = http1::Builder::new()
        .timer(TokioTimer::new())
        .max_headers(MOST_HEADERS)
        // A client that has said all it will still waits for the answer.
        .half_close(true)
        .serve_connection(TokioIo::new(client), service)
        .await;
}

/// One client's way to the broker.
struct Lane {
    target: Target,
    open: Mutex<Option<(SocketAddr, SendRequest<Incoming>)>>,
}

impl Lane {
    async fn carry(&self, mut request: Request<Incoming>) -> Answer {
        drop_hop_by_hop(request.headers_mut());
        let mut open = self.open.lock().await;
        match self.send(&mut open, request).await {
            Ok(mut answer) => {
                drop_hop_by_hop(answer.headers_mut());
                answer.map(Either::Left)
            }
            Err(_) => {
                *open = None;
                unreachable_broker()
            }
        }
    }

    /// Sends on the open connection, or on a new one if the broker has closed it
    /// before a byte was written.
    async fn send(
        &self,
        open: &mut Option<(SocketAddr, SendRequest<Incoming>)>,
        request: Request<Incoming>,
    ) -> Result<Response<Incoming>, Box<dyn std::error::Error + Send + Sync>> {
        let target = self.target.now();
        let request = match open {
            Some((to, sender)) if *to == target => {
                // One that is closed says so again, and hands the request back.
                let _ = sender.ready().await;
                match sender.try_send_request(request).await {
                    Ok(answer) => return Ok(answer),
                    Err(mut error) => match error.take_message() {
                        Some(unsent) => unsent,
                        None => return Err(error.into_error().into()),
                    },
                }
            }
            _ => request,
        };
        let (_, sender) = open.insert((target, connect(target).await?));
        Ok(sender.send_request(request).await?)
    }
}

async fn connect(
    target: SocketAddr,
) -> Result<SendRequest<Incoming>, Box<dyn std::error::Error + Send + Sync>> {
    let stream = TcpStream::connect(target).await?;
    stream.set_nodelay(true)?;
    let (sender, connection) = Client::new()
        .max_headers(MOST_HEADERS)
        .handshake(TokioIo::new(stream))
        .await?;
    tokio::spawn(connection);
    Ok(sender)
}

/// What concerns one connection alone is not carried to the next.
fn drop_hop_by_hop(headers: &mut HeaderMap) {
    const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");
    for name in [CONNECTION, KEEP_ALIVE, TE, TRANSFER_ENCODING, UPGRADE] {
        headers.remove(name);
    }
}

fn unreachable_broker() -> Answer {
    let mut answer = Response::new(Either::Right(Full::from(
        "The broker behind the wire cannot be reached, or the exchange with it broke off.\n",
    )));
    *answer.status_mut() = StatusCode::BAD_GATEWAY;
    answer
}
