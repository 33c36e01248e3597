//! HTTP: one wiremock server per provider, with our own router inside, and the
//! [`Wire`] in front of it.
//!
//! One mock takes every request and asks the provider for the answer.
//!
//! # Why the mock is renewed
//!
//! A mounted mock keeps a copy of every request it matched (wiremock 0.6.5, with
//! recording disabled too). Only `MockServer::reset` frees them, and it drops
//! the mock as well: a request between it and the next mount would find
//! nothing. Waiting for an idle moment would leave that gap open, and would
//! never come under load.
//!
//! So the renewal runs on wiremock's own thread, started from within a request
//! when enough is kept. That thread serves every connection (its runtime is a
//! `current_thread` one), hence no request can run while the renewal is polled,
//! and a single poll suffices: both steps ask for the lock in it, in order.
//! Should the lock ever be taken, they queue up one behind the other, for it is
//! a fair one, and no request gets between them. `tests/memory.rs` holds both
//! halves of this: nothing is lost, nothing piles up.
//!
//! wiremock counts its resets in a `u16`, and a debug build stops at the 65,536th:
//! after 67 million requests, each of which would have cost 4 KiB.

use std::io;
use std::net::TcpListener;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use wiremock::http::HeaderValue;
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate};

use crate::answer::Answer;
use crate::call::Call;
use crate::desk::Desk;
use crate::journal::{Entry, cut, masked};
use crate::wire::{MARK, Wire};

/// How many bytes of requests wiremock may keep before the mock is renewed.
const KEPT_BYTES: usize = 4 * 1024 * 1024;

/// What a request without a body takes, generously.
const REQUEST_BYTES: usize = 4 * 1024;

/// A provider behind its server.
pub(crate) trait Dialect: Send + Sync {
    /// Answers one request; never waits.
    fn answer(&self, call: &Call) -> Answer;

    /// The bytes that it remembers of sign-ins.
    fn bytes_held(&self) -> usize;

    /// Forgets codes, tokens and sign-ins.
    fn reset(&self);
}

/// A running server; dropping it stops it.
pub(crate) struct Server {
    _wire: Wire,
    _running: Arc<MockServer>,
}

impl Server {
    /// Serves `dialect` on `listener` and writes down each request at `desk`.
    pub(crate) async fn start(
        listener: TcpListener,
        desk: Arc<Desk>,
        dialect: Arc<dyn Dialect>,
    ) -> io::Result<Self> {
        let builder = MockServer::builder().disable_request_recording();
        let server = Arc::new(builder.start().await);
        let door = Arc::new(Door {
            desk,
            dialect,
            kept_bytes: AtomicUsize::new(0),
            server: Arc::downgrade(&server),
        });
        server.register(door.mock()).await;
        Ok(Self {
            _wire: Wire::carry(listener, *server.address())?,
            _running: server,
        })
    }
}

/// Where requests come in.
struct Door {
    desk: Arc<Desk>,
    dialect: Arc<dyn Dialect>,
    kept_bytes: AtomicUsize,
    server: Weak<MockServer>,
}

impl Door {
    fn mock(self: &Arc<Self>) -> Mock {
        Mock::given(any()).respond_with(Answers(Arc::clone(self)))
    }

    fn answer(&self, request: &Request) -> Answer {
        let call = Call::from(request);
        let answer = self.dialect.answer(&call);
        self.desk.journal.write(Entry {
            at: self.desk.now_ms(),
            method: call.method().to_owned(),
            path: cut(call.path()),
            query: masked(call.raw_query()),
            status: answer.visible_status(),
        });
        answer
    }

    /// Counts what wiremock keeps of `request`; too much starts a renewal, once.
    fn count(self: &Arc<Self>, request: &Request) {
        let head: usize = request.headers.values().map(HeaderValue::len).sum();
        let bytes = REQUEST_BYTES + request.url.as_str().len() + head + request.body.len();
        let before = self.kept_bytes.fetch_add(bytes, Ordering::Relaxed);
        if before < KEPT_BYTES && before + bytes >= KEPT_BYTES {
            tokio::spawn(Arc::clone(self).renew());
        }
    }

    /// Mounts a fresh mock in place of the old one; see the module's text.
    async fn renew(self: Arc<Self>) {
        let Some(server) = self.server.upgrade() else {
            return;
        };
        self.kept_bytes.store(0, Ordering::Relaxed);
        tokio::join!(biased; server.reset(), server.register(self.mock()));
    }
}

struct Answers(Arc<Door>);

impl Respond for Answers {
    fn respond(&self, request: &Request) -> ResponseTemplate {
        self.0.count(request);
        self.0.answer(request).into()
    }
}

impl From<Answer> for ResponseTemplate {
    fn from(answer: Answer) -> Self {
        let mark = answer.delivery.mark().map(|mark| (MARK, mark));
        Self::new(answer.status)
            .append_headers(answer.headers)
            .append_headers(mark)
            .set_body_bytes(answer.body)
    }
}
