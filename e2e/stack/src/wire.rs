//! The wire: a proxy in front of the broker that speaks real HTTP/1.1.
//!
//! It owns the broker's public address, so that a new broker can take the place
//! of an old one behind it. Each connection of a client has one connection of its
//! own to the broker. The wire strikes with the [`Faults`] it is told to, and
//! writes what crossed it into the [`Logbook`].

mod body;
mod call;
mod carrier;
mod lane;
mod resends;
mod spoil;

use std::net::SocketAddr;
use std::sync::{Arc, PoisonError, RwLock};

use hyper::header::{CONNECTION, HeaderMap, HeaderName, TE, TRANSFER_ENCODING, UPGRADE};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use crate::faults::Faults;
use crate::logbook::Logbook;
use crate::time::StackClock;
use carrier::Carrier;
use resends::Resends;

/// As many headers as nobody honest sends: what is too much, the broker says.
const MOST_HEADERS: usize = 1000;

/// A running proxy. Dropped, it takes no new connections.
#[derive(Debug)]
pub struct Wire {
    /// Where it listens.
    pub address: SocketAddr,
    target: Target,
    accepting: JoinHandle<()>,
}

/// What a wire goes by, and what it leaves behind.
#[derive(Debug, Default)]
pub struct Watch {
    /// What it does wrong.
    pub faults: Faults,
    /// Where it writes what happened.
    pub logbook: Logbook,
    /// The time that it writes down.
    pub clock: StackClock,
    resends: Resends,
}

impl Watch {
    /// Nothing wrong, nothing written, by `clock`.
    pub(crate) fn by(clock: StackClock) -> Self {
        Self {
            clock,
            ..Self::default()
        }
    }

    /// Forgets everything.
    pub(crate) fn clear(&self) {
        self.faults.clear();
        self.logbook.clear();
        self.resends.clear();
    }
}

/// Where the broker is at the moment.
#[derive(Debug, Clone)]
struct Target(Arc<RwLock<SocketAddr>>);

impl Wire {
    /// Carries what arrives at `listener` to `target`, as `watch` says.
    ///
    /// # Errors
    ///
    /// When the listener cannot be used.
    pub fn carry(
        listener: std::net::TcpListener,
        target: SocketAddr,
        watch: Arc<Watch>,
    ) -> std::io::Result<Self> {
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let listener = TcpListener::from_std(listener)?;
        let target = Target(Arc::new(RwLock::new(target)));
        let accepting = tokio::spawn(accept(listener, target.clone(), watch));
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

async fn accept(listener: TcpListener, target: Target, watch: Arc<Watch>) {
    loop {
        let Ok((client, _)) = listener.accept().await else {
            wait_for_descriptors().await;
            continue;
        };
        let _ = client.set_nodelay(true);
        tokio::spawn(serve(client, target.clone(), watch.clone()));
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
async fn serve(client: TcpStream, target: Target, watch: Arc<Watch>) {
    let carrier = Arc::new(Carrier::new(target, watch));
    let service = service_fn(move |request| {
        let carrier = carrier.clone();
        async move { carrier.carry(request).await }
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

/// What concerns one connection alone is not carried to the next.
fn drop_hop_by_hop(headers: &mut HeaderMap) {
    const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");
    for name in [CONNECTION, KEEP_ALIVE, TE, TRANSFER_ENCODING, UPGRADE] {
        headers.remove(name);
    }
}
