//! The fault proxy in front of the broker, a real HTTP/1.1 proxy.
//!
//! It owns the broker's public address, so that a reset can put a new broker behind it.
//! Each client connection has one connection of its own to the broker. The proxy injects
//! the armed [`Faults`](crate::faults::Faults) and records every exchange in the
//! [`EventLog`](crate::event_log::EventLog).

mod service;

mod call;
mod corrupt;
mod delivery;
mod upstream_conn;

use std::error::Error as _;
use std::net::SocketAddr;
use std::sync::Arc;

use hyper::Request;
use hyper::body::Bytes;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;

use crate::accept::Accepting;
use call::ProxiedCall;
use corrupt::{Unanswered, keep_silent};
pub use delivery::ProxyState;
use delivery::{ClientStream, ReadyAnswer};
use service::ProxyService;
use upstream_conn::{MAX_HEADERS, Target};

/// A running proxy. Dropping it closes its listener and every connection.
#[derive(Debug)]
pub struct Proxy {
    /// The address that the proxy listens on.
    pub address: SocketAddr,
    target: Target,
    state: Arc<ProxyState>,
    _accepting: Accepting,
}

impl Proxy {
    /// Forwards the requests that arrive at `listener` to `target`, with the faults and
    /// into the event log of `state`.
    ///
    /// # Errors
    ///
    /// If the listener cannot be used.
    pub fn start(
        listener: std::net::TcpListener,
        target: SocketAddr,
        state: Arc<ProxyState>,
    ) -> std::io::Result<Self> {
        let address = listener.local_addr()?;
        let target = Target::new(target);
        let (to, recorded_in) = (target.clone(), state.clone());
        let serve = move |client| serve(client, to.clone(), recorded_in.clone());
        Ok(Self {
            address,
            target,
            state,
            _accepting: Accepting::start(listener, serve)?,
        })
    }

    /// Forwards new requests to another broker from now on.
    pub fn retarget(&self, target: SocketAddr) {
        self.target.set(target);
    }

    /// Sends a recorded request again, as if its client did, and returns the `X-Request-Id`
    /// of the answer, unless a fault keeps that back.
    pub async fn send_again(&self, request: Request<Bytes>) -> Option<String> {
        const WHY: &str = "the inspector sends the same call again, to show what single use means";
        let ready = ReadyAnswer::default();
        let service = ProxyService::new(self.target.clone(), self.state.clone(), ready);
        let call = ProxiedCall::again(request);
        let (answer, delivery) = service.forward_call(call, Some(WHY)).await.ok()?;
        if let Some(delivery) = delivery {
            delivery.record(true);
        }
        let request_id = answer.headers().get("x-request-id")?;
        Some(request_id.to_str().ok()?.to_owned())
    }
}

/// Serves one client connection to its end.
async fn serve(client: TcpStream, target: Target, state: Arc<ProxyState>) {
    let ready = ReadyAnswer::default();
    let stream = ClientStream {
        stream: client,
        ready: ready.clone(),
    };
    let service = Arc::new(ProxyService::new(target, state, ready));
    let service = service_fn(move |request| {
        let service = service.clone();
        async move { service.forward(request).await }
    });
    let mut connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .max_headers(MAX_HEADERS)
        // A client that closes its sending half still waits for the answer.
        .half_close(true)
        .serve_connection(TokioIo::new(stream), service);
    // A client that disconnects is no event of the proxy.
    if (&mut connection)
        .await
        .is_err_and(|error| is_silent(&error))
    {
        keep_silent(connection.into_parts().io.into_inner().stream).await;
    }
}

/// Whether a fault ended the service of a connection that stays open.
fn is_silent(error: &hyper::Error) -> bool {
    let cause = error.source().and_then(|it| it.downcast_ref());
    matches!(cause, Some(Unanswered::Silent))
}
