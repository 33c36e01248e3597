//! The bodies of faults that a client waits for: one that drips, and one without an end;
//! and the silence of a connection.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper::Response;
use hyper::body::{Body, Bytes, Frame, SizeHint};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use tokio::io::{copy, sink};
use tokio::net::TcpStream;
use tokio::time::{Interval, MissedTickBehavior, Sleep, interval, sleep, timeout};

use super::corrupt::{ClientBody, Closed, faulty};

/// The longest time that a client is kept waiting by silence, by a dripping body or by one
/// without an end: longer than clients wait, and it ends by itself.
const LIMIT: Duration = Duration::from_secs(60);

/// The time from one byte of a dripping body to the next.
const DRIP_INTERVAL: Duration = Duration::from_millis(500);

/// The time from one piece of an endless body to the next: 1.6 MB a second.
const PIECE_INTERVAL: Duration = Duration::from_millis(10);

/// A piece of an endless body. Spaces may precede every JSON document.
static PIECE: [u8; 16 * 1024] = [b' '; 16 * 1024];

/// The response with its head at once, and its body byte by byte.
pub(super) fn dripping(response: Response<Bytes>) -> Response<ClientBody> {
    response.map(|rest| faulty(DrippingBody::limited_to(LIMIT, rest)))
}

/// A response of JSON that never ends.
pub(super) fn endless() -> Response<ClientBody> {
    let mut response = Response::new(faulty(EndlessBody::limited_to(LIMIT)));
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, json);
    response
}

/// Keeps the connection open without sending anything, until the client leaves.
#[expect(
    clippy::disallowed_methods,
    reason = "a client waits in real time, whatever our clock shows"
)]
pub(super) async fn keep_silent(mut client: TcpStream) {
    // Reading shows that the client has left.
    let _ = timeout(LIMIT, copy(&mut client, &mut sink())).await;
}

#[derive(Debug)]
struct DrippingBody {
    rest: Bytes,
    ticks: Interval,
    limit: Pin<Box<Sleep>>,
}

impl DrippingBody {
    #[expect(
        clippy::disallowed_methods,
        reason = "a client waits in real time, whatever our clock shows"
    )]
    fn limited_to(limit: Duration, rest: Bytes) -> Self {
        Self {
            rest,
            ticks: ticks(DRIP_INTERVAL),
            limit: Box::pin(sleep(limit)),
        }
    }
}

#[derive(Debug)]
struct EndlessBody {
    ticks: Interval,
    limit: Pin<Box<Sleep>>,
}

impl EndlessBody {
    #[expect(
        clippy::disallowed_methods,
        reason = "a client waits in real time, whatever our clock shows"
    )]
    fn limited_to(limit: Duration) -> Self {
        Self {
            ticks: ticks(PIECE_INTERVAL),
            limit: Box::pin(sleep(limit)),
        }
    }
}

impl Body for DrippingBody {
    type Data = Bytes;
    type Error = Closed;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Closed>>> {
        if self.rest.is_empty() {
            return Poll::Ready(None);
        }
        if self.limit.as_mut().poll(context).is_ready() {
            return Poll::Ready(Some(Err(Closed)));
        }
        ready!(self.ticks.poll_tick(context));
        Poll::Ready(Some(Ok(Frame::data(self.rest.split_to(1)))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.rest.len() as u64)
    }
}

impl Body for EndlessBody {
    type Data = Bytes;
    type Error = Closed;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Closed>>> {
        if self.limit.as_mut().poll(context).is_ready() {
            return Poll::Ready(Some(Err(Closed)));
        }
        ready!(self.ticks.poll_tick(context));
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(&PIECE)))))
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a client waits in real time, whatever our clock shows"
)]
fn ticks(period: Duration) -> Interval {
    let mut ticks = interval(period);
    // A client that reads late gets no burst.
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt as _;

    use super::*;

    #[tokio::test]
    async fn an_endless_body_breaks_off_at_its_limit() {
        let frame = EndlessBody::limited_to(Duration::ZERO).frame().await;
        assert!(matches!(frame, Some(Err(Closed))), "{frame:?}");
    }

    #[tokio::test]
    async fn a_dripping_body_breaks_off_at_its_limit() {
        let body = Bytes::from_static(b"{}");
        let frame = DrippingBody::limited_to(Duration::ZERO, body).frame().await;
        assert!(matches!(frame, Some(Err(Closed))), "{frame:?}");
    }
}
