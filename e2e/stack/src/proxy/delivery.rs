//! The state that a proxy shares with the control address; whether a client receives its
//! answer; and the lost calls that clients send again.
//!
//! An answer is received if the last byte is written while the client is there. One that has
//! closed its half of the connection counts as gone, although it gets the answer if it still
//! reads.
//!
//! A browser, or curl, silently repeats a request when a reused connection closes
//! without an answer. An application that repeats a one-time call itself makes a mistake.
//! The two differ only in whether the connection had served a call before. A client that
//! stops to wait for an answer has lost its call too, and repeats it only on purpose.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use contract::Digest;
use hyper::body::{Body, Bytes, Frame, SizeHint};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use super::corrupt::ClientBody;
use crate::event_log::{EventLog, ProxyEvent, Receipt};
use crate::faults::Faults;
use crate::time::StackClock;

/// The faults, event log and clock of a proxy. They survive a reset of the stack, which
/// clears them.
#[derive(Debug, Default)]
pub struct ProxyState {
    /// The armed faults.
    pub faults: Faults,
    /// The log of every event and exchange.
    pub event_log: EventLog,
    /// The time of the proxy's events.
    pub clock: StackClock,
    pub(super) resends: Resends,
}

impl ProxyState {
    pub(crate) fn new(clock: StackClock) -> Self {
        Self {
            clock,
            ..Self::default()
        }
    }

    /// Disarms all faults and forgets all events and lost calls.
    pub(crate) fn clear(&self) {
        self.faults.clear();
        self.event_log.clear();
        self.resends.clear();
    }

    pub(super) fn record(&self, event: ProxyEvent<'_>) {
        self.event_log.append(event.at(self.clock.now_ms()));
    }
}

/// The number of lost calls that are remembered.
const MAX_LOST: usize = 256;

/// The calls whose answers were lost.
#[derive(Debug, Default)]
pub(super) struct Resends(Mutex<VecDeque<LostCall>>);

#[derive(Debug)]
struct LostCall {
    digest: Digest,
    was_reused: bool,
}

impl Resends {
    /// Remembers a lost call, and whether its connection had served another before.
    pub(super) fn lost(&self, digest: Digest, was_reused: bool) {
        let mut lost = self.lock();
        if lost.len() == MAX_LOST {
            lost.pop_front();
        }
        lost.push_back(LostCall { digest, was_reused });
    }

    /// Forgets a lost call: its client has received the answer after all.
    pub(super) fn forget(&self, digest: Digest) {
        self.lock().retain(|lost| lost.digest != digest);
    }

    /// The most likely cause of this resend; `None` if the call was not lost before.
    pub(super) fn explain(&self, digest: Digest) -> Option<&'static str> {
        let mut lost = self.lock();
        let position = lost.iter().position(|lost| lost.digest == digest)?;
        Some(if lost.remove(position)?.was_reused {
            "the same call again, after its reused connection closed without an answer: \
             browsers, curl and some HTTP libraries do so by themselves"
        } else {
            "the same call again, after its first connection closed without an answer: \
             the application repeats it, which no one-time call allows"
        })
    }

    pub(super) fn clear(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<LostCall>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The delivery of one answer of the broker's. Dropped before the client has received the
/// answer, it counts the call as lost.
pub(super) struct Delivery {
    pub(super) state: Arc<ProxyState>,
    pub(super) digest: Digest,
    pub(super) receipt: Receipt,
    /// Whether the call counted as lost from its beginning.
    pub(super) was_lost: bool,
}

impl Delivery {
    /// Records whether the client receives the answer.
    pub(super) fn record(&self, is_received: bool) {
        self.receipt.set(is_received);
        if is_received {
            self.state.resends.forget(self.digest);
        }
    }
}

impl Drop for Delivery {
    fn drop(&mut self) {
        if !self.receipt.is_received() && !self.was_lost {
            // No client repeats a call by itself that it has stopped to wait for.
            self.state.resends.lost(self.digest, false);
        }
    }
}

/// The delivery of the answer of which every byte is ready to be written to a connection.
#[derive(Clone, Default)]
pub(super) struct ReadyAnswer(Arc<Mutex<Option<Delivery>>>);

impl ReadyAnswer {
    fn put(&self, delivery: Option<Delivery>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = delivery;
    }

    /// The connection serves another call.
    pub(super) fn clear(&self) {
        self.put(None);
    }

    fn record(&self, is_received: bool) {
        let ready = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(delivery) = &*ready {
            delivery.record(is_received);
        }
    }
}

/// A body whose end makes its answer ready.
pub(super) struct DeliveredBody {
    pub(super) body: ClientBody,
    pub(super) delivery: Option<Delivery>,
    pub(super) ready: ReadyAnswer,
}

impl Body for DeliveredBody {
    type Data = Bytes;
    type Error = <ClientBody as Body>::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// hyper drops a body when it has taken the last byte of it.
impl Drop for DeliveredBody {
    fn drop(&mut self) {
        if self.body.is_end_stream() {
            self.ready.put(self.delivery.take());
        }
    }
}

/// The stream of a client, which knows whether the answer that is ready is received.
pub(super) struct ClientStream {
    pub(super) stream: TcpStream,
    pub(super) ready: ReadyAnswer,
}

impl ClientStream {
    /// Writes `bytes`. The client may act on the answer before this returns, so the receipt
    /// is there before it.
    fn write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: usize,
        write: impl FnOnce(Pin<&mut TcpStream>, &mut Context<'_>) -> Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        let is_there = self.is_there(context);
        self.ready.record(is_there);
        let written = write(Pin::new(&mut self.stream), context);
        if !matches!(written, Poll::Ready(Ok(written)) if written == bytes) {
            self.ready.record(false);
        }
        written
    }

    /// Whether the client has neither closed nor broken the connection.
    fn is_there(&self, context: &mut Context<'_>) -> bool {
        let mut byte = [0];
        let peeked = self.stream.poll_peek(context, &mut ReadBuf::new(&mut byte));
        !matches!(peeked, Poll::Ready(Ok(0) | Err(_)))
    }
}

impl AsyncWrite for ClientStream {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.write(context, bytes.len(), |stream, context| {
            stream.poll_write(context, bytes)
        })
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let bytes = slices.iter().map(|slice| slice.len()).sum();
        self.write(context, bytes, |stream, context| {
            stream.poll_write_vectored(context, slices)
        })
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

impl AsyncRead for ClientStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}
