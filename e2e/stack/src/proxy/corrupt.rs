//! The bodies and pages that faults send instead of the broker's response, those that a client
//! waits for, and the silence of a connection; and the proxy's own answers.

use std::fmt::Display;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Either, Full};
use hyper::body::{Body, Bytes, Frame, SizeHint};
use hyper::header::{CONNECTION, CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};
use tokio::io::{copy, sink};
use tokio::net::TcpStream;
use tokio::time::{Interval, MissedTickBehavior, Sleep, interval, sleep, timeout};

/// The proxy closes the connection, without a byte if none was sent yet.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("the proxy closes the connection")]
pub(super) struct Closed;

/// A call that ends without an answer.
#[derive(Debug, Clone, Copy, thiserror::Error)]
pub(super) enum Unanswered {
    /// The connection closes.
    #[error(transparent)]
    Closed(#[from] Closed),
    /// The connection stays open.
    #[error("the proxy keeps the connection open and sends nothing")]
    Silent,
}

/// The body that a client receives: whole, or as a fault makes it.
pub(super) type ClientBody = Either<Full<Bytes>, UnsyncBoxBody<Bytes, Closed>>;

/// The body of a whole answer.
pub(super) fn whole(body: impl Into<Bytes>) -> ClientBody {
    Either::Left(Full::new(body.into()))
}

/// A body that a fault makes.
fn faulty(body: impl Body<Data = Bytes, Error = Closed> + Send + 'static) -> ClientBody {
    Either::Right(body.boxed_unsync())
}

/// Half of a body, followed by the end of the connection.
#[derive(Debug)]
struct HalfBody {
    half: Option<Bytes>,
    whole: u64,
    is_flushed: bool,
}

/// The response with half its body. A response without a body cannot be halved and is
/// lost whole.
pub(super) fn halved(response: Response<Bytes>) -> Result<Response<ClientBody>, Closed> {
    if response.body().is_empty() {
        return Err(Closed);
    }
    Ok(response.map(|body| {
        faulty(HalfBody {
            half: Some(body.slice(..body.len() / 2)),
            whole: body.len() as u64,
            is_flushed: false,
        })
    }))
}

impl Body for HalfBody {
    type Data = Bytes;
    type Error = Closed;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Closed>>> {
        if let Some(half) = self.half.take() {
            return Poll::Ready(Some(Ok(Frame::data(half))));
        }
        if self.is_flushed {
            return Poll::Ready(Some(Err(Closed)));
        }
        // An error would drop the unwritten half; a pause lets hyper write it first.
        self.is_flushed = true;
        context.waker().wake_by_ref();
        Poll::Pending
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.whole)
    }
}

/// The longest time that a client is kept waiting by silence, by a dripping body or by one
/// without an end: longer than clients wait, and it ends by itself.
const LIMIT: Duration = Duration::from_secs(60);

/// The time from one byte of a dripping body to the next.
const DRIP_INTERVAL: Duration = Duration::from_millis(500);

/// The time from one piece of an endless body to the next: 1.6 MB a second.
const PIECE_INTERVAL: Duration = Duration::from_millis(10);

/// A piece of an endless body. Spaces may precede every JSON document.
static PIECE: [u8; 16 * 1024] = [b' '; 16 * 1024];

/// A body that a client waits for.
#[derive(Debug)]
struct SlowBody {
    /// The rest, which comes byte by byte; `None` if there is no end.
    rest: Option<Bytes>,
    ticks: Interval,
    limit: Pin<Box<Sleep>>,
}

/// The response with its head at once, and its body byte by byte.
pub(super) fn dripping(response: Response<Bytes>) -> Response<ClientBody> {
    response.map(|rest| faulty(SlowBody::limited_to(LIMIT, Some(rest))))
}

/// A response of JSON that never ends.
pub(super) fn endless() -> Response<ClientBody> {
    let body = faulty(SlowBody::limited_to(LIMIT, None));
    of_type("application/json", Response::new(body))
}

#[expect(
    clippy::disallowed_methods,
    reason = "a client waits in real time, whatever our clock shows"
)]
impl SlowBody {
    fn limited_to(limit: Duration, rest: Option<Bytes>) -> Self {
        let mut ticks = interval(match rest {
            Some(_) => DRIP_INTERVAL,
            None => PIECE_INTERVAL,
        });
        // A client that reads late gets no burst.
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self {
            rest,
            ticks,
            limit: Box::pin(sleep(limit)),
        }
    }
}

impl Body for SlowBody {
    type Data = Bytes;
    type Error = Closed;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Closed>>> {
        if self.is_end_stream() {
            return Poll::Ready(None);
        }
        if self.limit.as_mut().poll(context).is_ready() {
            return Poll::Ready(Some(Err(Closed)));
        }
        ready!(self.ticks.poll_tick(context));
        let piece = match &mut self.rest {
            Some(rest) => rest.split_to(1),
            None => Bytes::from_static(&PIECE),
        };
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.as_ref().is_some_and(Bytes::is_empty)
    }

    fn size_hint(&self) -> SizeHint {
        match &self.rest {
            Some(rest) => SizeHint::with_exact(rest.len() as u64),
            None => SizeHint::default(),
        }
    }
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

/// The page of a gateway whose backend did not answer.
pub(super) fn bad_gateway() -> Response<ClientBody> {
    let html = "<!DOCTYPE html><html lang=\"en\"><title>502 Bad Gateway</title>\
         <h1>502 Bad Gateway</h1><p>A proxy says this, not the service.</p></html>\n";
    page(StatusCode::BAD_GATEWAY, html)
}

/// The page of a captive portal.
pub(super) fn foreign_page() -> Response<ClientBody> {
    let html = "<!DOCTYPE html><html lang=\"en\"><title>Welcome</title>\
         <h1>Welcome to our network</h1><p>Accept the terms to go on.</p></html>\n";
    page(StatusCode::OK, html)
}

/// The proxy's own answer to a request that it cannot forward.
pub(super) fn refused_request(status: StatusCode, reason: impl Display) -> Response<ClientBody> {
    let mut response = text(status, format!("{reason}.\n"));
    // Where its body ends may be another matter for the next reader.
    let close = HeaderValue::from_static("close");
    response.headers_mut().insert(CONNECTION, close);
    response
}

/// The proxy's own error when the broker cannot be reached.
pub(super) fn broker_unreachable() -> Response<ClientBody> {
    let why = "The broker behind the proxy cannot be reached, or the exchange with it broke off.\n";
    text(StatusCode::BAD_GATEWAY, why)
}

fn page(status: StatusCode, html: &'static str) -> Response<ClientBody> {
    of_type("text/html; charset=utf-8", text(status, html))
}

fn text(status: StatusCode, body: impl Into<Bytes>) -> Response<ClientBody> {
    let mut response = Response::new(whole(body));
    *response.status_mut() = status;
    response
}

fn of_type(media_type: &'static str, mut response: Response<ClientBody>) -> Response<ClientBody> {
    let media_type = HeaderValue::from_static(media_type);
    response.headers_mut().insert(CONTENT_TYPE, media_type);
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_endless_and_a_dripping_body_break_off_at_their_limit() {
        for rest in [None, Some(Bytes::from_static(b"{}"))] {
            let mut body = SlowBody::limited_to(Duration::ZERO, rest);
            let frame = body.frame().await;
            assert!(matches!(frame, Some(Err(Closed))), "{frame:?}");
        }
    }
}
