//! HTTP: a request, a response, and the server: one wiremock server with a single mock, which
//! passes every request to a handler, and the [`Transport`] in front of it.
//!
//! # Why the mock is renewed
//!
//! A mounted mock keeps a copy of every request that it matched (wiremock 0.6.5, with
//! recording disabled too). Only `MockServer::reset` frees the copies, and it removes the
//! mock as well: a request between the reset and the next mount would match nothing.
//! Waiting for an idle moment would leave that gap open, and would never come under load.
//!
//! So the renewal runs on wiremock's own thread, started from within a request once the
//! copies take too much. That thread serves every connection (its runtime is a
//! `current_thread` one), hence no request can run while the renewal is polled, and a
//! single poll suffices: both steps ask for the lock in it, in order. If the lock is ever
//! taken, they queue one behind the other, because it is fair, and no request gets
//! between them. `tests/process.rs` tests both halves of this: no request is lost, no copy
//! piles up.
//!
//! wiremock counts its resets in a `u16`, and a debug build panics at the 65,536th: after
//! 67 million requests of 4 KiB each.

mod message;

mod transport;
mod whole_request;

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use wiremock::http::HeaderValue;
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, Respond, ResponseTemplate};

pub(crate) use message::{Delivery, Params, Request, Response};
use transport::{DELIVERY_HEADER, Transport};

/// The bytes of requests, 4 MiB, that wiremock may keep before the mock is renewed.
const MAX_KEPT_BYTES: usize = 4_194_304;

/// A generous estimate of a request without a body.
const REQUEST_BYTES: usize = 4_096;

/// A running server; dropping it stops it.
pub(crate) struct Server {
    _transport: Transport,
    _wiremock: Arc<MockServer>,
}

impl Server {
    /// Answers every request at `listener` with `handler`, which must not wait.
    pub(crate) async fn start(
        listener: TcpListener,
        handler: impl Fn(&Request) -> Response + Send + Sync + 'static,
    ) -> io::Result<Self> {
        // Bound here, because wiremock panics where no port is free.
        let behind = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let builder = MockServer::builder().listener(behind);
        let server = Arc::new(builder.disable_request_recording().start().await);
        let service = Arc::new(Service {
            handler: Box::new(handler),
            kept_bytes: AtomicUsize::new(0),
            server: Arc::downgrade(&server),
        });
        server.register(service.mock()).await;
        Ok(Self {
            _transport: Transport::start(listener, *server.address())?,
            _wiremock: server,
        })
    }
}

/// The handler, and the size of the copies that wiremock keeps.
struct Service {
    handler: Box<dyn Fn(&Request) -> Response + Send + Sync>,
    kept_bytes: AtomicUsize,
    server: Weak<MockServer>,
}

impl Service {
    fn mock(self: &Arc<Self>) -> Mock {
        Mock::given(any()).respond_with(Responder(Arc::clone(self)))
    }

    /// Counts the copy of `request`; the one that exceeds the limit starts a renewal.
    fn count(self: &Arc<Self>, request: &wiremock::Request) {
        let head: usize = request.headers.values().map(HeaderValue::len).sum();
        let bytes = REQUEST_BYTES + request.url.as_str().len() + head + request.body.len();
        let before = self.kept_bytes.fetch_add(bytes, Ordering::Relaxed);
        if before < MAX_KEPT_BYTES && before + bytes >= MAX_KEPT_BYTES {
            tokio::spawn(Arc::clone(self).renew());
        }
    }

    /// Mounts a new mock in place of the old one, as the module's text explains.
    async fn renew(self: Arc<Self>) {
        let Some(server) = self.server.upgrade() else {
            return;
        };
        self.kept_bytes.store(0, Ordering::Relaxed);
        tokio::join!(biased; server.reset(), server.register(self.mock()));
    }
}

struct Responder(Arc<Service>);

impl Respond for Responder {
    fn respond(&self, request: &wiremock::Request) -> ResponseTemplate {
        let Self(service) = self;
        service.count(request);
        (service.handler)(&Request::from(request)).into()
    }
}

impl From<Response> for ResponseTemplate {
    fn from(response: Response) -> Self {
        let delivery = response.delivery.header_value();
        Self::new(response.status)
            .append_headers(response.headers)
            .append_headers(delivery.map(|delivery| (DELIVERY_HEADER, delivery)))
            .set_body_bytes(response.body)
    }
}
