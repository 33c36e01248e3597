//! The connection to the current broker that belongs to one client connection.

use std::error::Error;
use std::net::SocketAddr;
use std::sync::{Arc, PoisonError, RwLock};

use hyper::client::conn::http1::{Builder as Client, SendRequest};
use hyper::header::{HOST, HeaderValue};
use hyper::{Request, Response, body::Incoming};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::sync::Mutex;

use super::body::ForwardedBody;
use super::headers::MAX_HEADERS;

type SendError = Box<dyn Error + Send + Sync>;

/// A connection to the current broker, opened on demand.
#[derive(Debug)]
pub(super) struct UpstreamConn {
    target: Target,
    open: Mutex<Option<(SocketAddr, SendRequest<ForwardedBody>)>>,
}

impl UpstreamConn {
    pub(super) fn new(target: Target) -> Self {
        Self {
            target,
            open: Mutex::new(None),
        }
    }

    /// Sends a request on the open connection, or on a new one if the broker has closed it
    /// before a byte was written.
    pub(super) async fn send(
        &self,
        mut request: Request<ForwardedBody>,
    ) -> Result<Response<Incoming>, SendError> {
        let target = self.target.get();
        // A client of HTTP/1.0 need not name a host; the broker requires one.
        let host = HeaderValue::try_from(target.to_string())?;
        request.headers_mut().entry(HOST).or_insert(host);
        let mut open = self.open.lock().await;
        let response = send(&mut open, target, request).await;
        if response.is_err() {
            *open = None;
        }
        response
    }

    /// Closes the connection; the next request opens another.
    pub(super) async fn close(&self) {
        *self.open.lock().await = None;
    }
}

async fn send(
    open: &mut Option<(SocketAddr, SendRequest<ForwardedBody>)>,
    target: SocketAddr,
    request: Request<ForwardedBody>,
) -> Result<Response<Incoming>, SendError> {
    let request = match open {
        Some((address, sender)) if *address == target => {
            // On a closed connection sending fails, too, and returns the request.
            let _ = sender.ready().await;
            match sender.try_send_request(request).await {
                Ok(response) => return Ok(response),
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

async fn connect(target: SocketAddr) -> Result<SendRequest<ForwardedBody>, SendError> {
    let stream = TcpStream::connect(target).await?;
    stream.set_nodelay(true)?;
    let (sender, connection) = Client::new()
        .max_headers(MAX_HEADERS)
        .handshake(TokioIo::new(stream))
        .await?;
    tokio::spawn(connection);
    Ok(sender)
}

/// The address of the current broker. Clones change together.
#[derive(Debug, Clone)]
pub(super) struct Target(Arc<RwLock<SocketAddr>>);

impl Target {
    pub(super) fn new(address: SocketAddr) -> Self {
        Self(Arc::new(RwLock::new(address)))
    }

    pub(super) fn get(&self) -> SocketAddr {
        *self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn set(&self, address: SocketAddr) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = address;
    }
}
