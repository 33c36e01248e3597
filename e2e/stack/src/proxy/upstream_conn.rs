//! The way to the current broker: the connection that belongs to one client connection, and
//! a request body on it.

use std::error::Error;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, PoisonError, RwLock};
use std::task::{Context, Poll};
use std::time::Duration;

use http_body_util::BodyExt as _;
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use hyper::client::conn::http1::{Builder as Client, SendRequest};
use hyper::header::{CONTENT_LENGTH, HOST, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::sync::Mutex;
use tokio::time::{Sleep, sleep};

use super::corrupt::Closed;

/// More headers than any honest client sends. The broker decides below that limit.
pub(super) const MAX_HEADERS: usize = 1000;

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

/// Bodies up to this size are read whole before they are forwarded: twice the broker's
/// limit. Of a larger body this much is forwarded before the [`REFUSAL_WAIT`].
const BUFFER_BYTES: usize = 64 * 1024;

/// The time that the broker has to refuse a large body after its beginning. It stops
/// reading then, and a client that goes on writing may lose the answer.
const REFUSAL_WAIT: Duration = Duration::from_secs(2);

/// The buffered start of a body, and the remainder of a large one.
#[derive(Debug)]
pub(super) struct ForwardedBody {
    /// Empty once it is forwarded.
    start: Bytes,
    rest: Option<Remainder>,
}

#[derive(Debug)]
struct Remainder {
    incoming: Incoming,
    passed: usize,
    pause: Option<Pin<Box<Sleep>>>,
}

impl ForwardedBody {
    pub(super) async fn read(head: &Parts, mut incoming: Incoming) -> Result<Self, Closed> {
        let mut start = Vec::new();
        let mut is_whole = incoming.is_end_stream();
        while !is_whole && !is_large(head) && start.len() <= BUFFER_BYTES {
            match incoming.frame().await {
                Some(Ok(frame)) => start.extend(frame.into_data().unwrap_or_default()),
                // The client is gone.
                Some(Err(_)) => return Err(Closed),
                None => is_whole = true,
            }
        }
        let rest = Remainder {
            incoming,
            passed: start.len(),
            pause: None,
        };
        Ok(Self {
            start: start.into(),
            rest: (!is_whole).then_some(rest),
        })
    }

    /// A body that is known already.
    pub(super) fn of(whole: Bytes) -> Self {
        Self {
            start: whole,
            rest: None,
        }
    }

    /// The buffered start.
    pub(super) fn start(&self) -> &[u8] {
        &self.start
    }

    /// The whole body, unless it is large.
    pub(super) fn whole(&self) -> Option<&[u8]> {
        self.rest.is_none().then_some(&*self.start)
    }
}

fn is_large(head: &Parts) -> bool {
    let length = head.headers.get(CONTENT_LENGTH);
    let length = length.and_then(|it| it.to_str().ok()?.parse::<usize>().ok());
    length.is_some_and(|length| length > BUFFER_BYTES)
}

impl Body for ForwardedBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        if !self.start.is_empty() {
            let start = std::mem::take(&mut self.start);
            return Poll::Ready(Some(Ok(Frame::data(start))));
        }
        match &mut self.rest {
            Some(rest) => rest.poll(context),
            None => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_none() && self.start.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        match self.rest {
            Some(_) => SizeHint::default(),
            None => SizeHint::with_exact(self.start.len() as u64),
        }
    }
}

impl Remainder {
    #[expect(
        clippy::disallowed_methods,
        reason = "waits for the broker in real time, whatever our clock shows"
    )]
    fn poll(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        if self.passed > BUFFER_BYTES {
            let pause = self
                .pause
                .get_or_insert_with(|| Box::pin(sleep(REFUSAL_WAIT)));
            if pause.as_mut().poll(context).is_pending() {
                return Poll::Pending;
            }
        }
        let frame = Pin::new(&mut self.incoming).poll_frame(context);
        if let Poll::Ready(Some(Ok(frame))) = &frame {
            self.passed += frame.data_ref().map_or(0, Bytes::len);
        }
        frame
    }
}
