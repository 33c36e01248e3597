//! HTTP: one wiremock server per provider, with our own router inside.
//!
//! Two mocks are mounted, because wiremock answers or cuts a connection by two
//! kinds of mock. The first one, [`Decides`], lets the provider decide while it
//! matches: it matches if the connection is to be cut, else it leaves the reply
//! for the second one, [`Delivers`]. wiremock holds its lock from matching to
//! answering, so the two always speak of the same request.
//!
//! # Why the mocks are renewed
//!
//! A mounted mock keeps a copy of every request it matched (wiremock 0.6.5, with
//! recording disabled too). Only `MockServer::reset` frees them, and it drops
//! the mocks as well: a request between it and the next mount would find
//! nothing. Waiting for an idle moment would leave that gap open, and would
//! never come under load.
//!
//! So the renewal runs on wiremock's own thread, started from within a request
//! when enough is kept. That thread serves every connection (its runtime is a
//! `current_thread` one), hence no request can run while the renewal is polled,
//! and a single poll suffices: all three steps ask for the lock in it, in order.
//! Should the lock ever be taken, they queue up one behind the other, for it is
//! a fair one, and no request gets between them. `tests/memory.rs` holds both
//! halves of this: nothing is lost, nothing piles up.
//!
//! wiremock counts its resets in a `u16`, and a debug build stops at the 65,536th:
//! after 67 million requests, each of which would have cost 4 KiB.

use std::io;
use std::net::TcpListener;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Weak};

use wiremock::matchers::any;
use wiremock::{Match, Mock, MockServer, Request, Respond, ResponseTemplate};

use crate::answer::{Answer, Reply};
use crate::call::Call;
use crate::desk::Desk;
use crate::journal::{Entry, masked};

/// How many bytes of requests wiremock may keep before the mocks are renewed.
const KEPT_BYTES: usize = 4 * 1024 * 1024;

/// What a request without a body takes, generously.
const REQUEST_BYTES: usize = 4 * 1024;

/// A provider behind its server.
pub(crate) trait Dialect: Send + Sync {
    /// Answers one request; never waits.
    fn answer(&self, call: &Call) -> Answer;

    /// Forgets codes, tokens and sign-ins.
    fn reset(&self);
}

/// A running server; dropping it stops it.
pub(crate) struct Server {
    _running: Arc<MockServer>,
}

impl Server {
    /// Serves `dialect` on `listener` and writes down each request at `desk`.
    pub(crate) async fn start(
        listener: TcpListener,
        desk: Arc<Desk>,
        dialect: Arc<dyn Dialect>,
    ) -> Self {
        let builder = MockServer::builder().listener(listener);
        let server = Arc::new(builder.disable_request_recording().start().await);
        let door = Arc::new(Door {
            desk,
            dialect,
            reply: Mutex::new(None),
            kept_bytes: AtomicUsize::new(0),
            server: Arc::downgrade(&server),
        });
        server.register(door.delivers()).await;
        server.register(door.decides()).await;
        Self { _running: server }
    }
}

/// Where requests come in.
struct Door {
    desk: Arc<Desk>,
    dialect: Arc<dyn Dialect>,
    /// From one mock to the other, within one request.
    reply: Mutex<Option<Reply>>,
    kept_bytes: AtomicUsize,
    server: Weak<MockServer>,
}

impl Door {
    fn decides(self: &Arc<Self>) -> Mock {
        let cut = |_: &Request| io::Error::from(io::ErrorKind::ConnectionReset);
        Mock::given(Decides(Arc::clone(self)))
            .respond_with_err(cut)
            .with_priority(1)
    }

    fn delivers(self: &Arc<Self>) -> Mock {
        Mock::given(any())
            .respond_with(Delivers(Arc::clone(self)))
            .with_priority(2)
    }

    fn answer(&self, request: &Request) -> Answer {
        let call = Call::from(request);
        let answer = self.dialect.answer(&call);
        self.desk.journal.write(Entry {
            at: self.desk.now_ms(),
            method: call.method().to_owned(),
            path: call.path().to_owned(),
            query: masked(call.raw_query()),
            status: answer.status(),
        });
        answer
    }

    /// Counts what wiremock keeps of `request`; too much starts a renewal, once.
    fn count(self: &Arc<Self>, request: &Request) {
        let bytes = REQUEST_BYTES + request.body.len();
        let before = self.kept_bytes.fetch_add(bytes, Ordering::Relaxed);
        if before < KEPT_BYTES && before + bytes >= KEPT_BYTES {
            tokio::spawn(Arc::clone(self).renew());
        }
    }

    /// Mounts fresh mocks in place of the old ones; see the module's text.
    async fn renew(self: Arc<Self>) {
        let Some(server) = self.server.upgrade() else {
            return;
        };
        self.kept_bytes.store(0, Ordering::Relaxed);
        tokio::join!(
            biased;
            server.reset(),
            server.register(self.delivers()),
            server.register(self.decides()),
        );
    }

    fn reply(&self) -> MutexGuard<'_, Option<Reply>> {
        self.reply
            .lock()
            .expect("nothing panics while it holds the reply")
    }
}

struct Decides(Arc<Door>);

impl Match for Decides {
    fn matches(&self, request: &Request) -> bool {
        self.0.count(request);
        match self.0.answer(request) {
            Answer::Cut => true,
            Answer::Reply(reply) => {
                *self.0.reply() = Some(reply);
                false
            }
        }
    }
}

struct Delivers(Arc<Door>);

impl Respond for Delivers {
    fn respond(&self, _: &Request) -> ResponseTemplate {
        match self.0.reply().take() {
            Some(reply) => reply.into(),
            // At the start, for a moment, nobody decides yet.
            None => ResponseTemplate::new(503),
        }
    }
}

impl From<Reply> for ResponseTemplate {
    fn from(reply: Reply) -> Self {
        Self::new(reply.status)
            .append_headers(reply.headers)
            .set_body_bytes(reply.body)
    }
}
