//! What a client gets: the broker's answer, or what a fault made of it.

use std::pin::Pin;
use std::task::{Context, Poll};

use http_body_util::{Either, Full};
use hyper::body::{Body, Bytes, Frame, SizeHint};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};

/// The connection is closed, without a byte if none was sent yet.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("the wire closes the connection")]
pub(super) struct Closed;

/// A whole body, or half of one.
pub(super) type Outgoing = Either<Full<Bytes>, Half>;

/// Half of a body, and then the end of the connection.
#[derive(Debug)]
pub(super) struct Half {
    half: Option<Bytes>,
    whole: u64,
    is_flushed: bool,
}

/// `answer` with half its body. One that has no body cannot be halved, and is
/// lost whole.
pub(super) fn halved(answer: Response<Bytes>) -> Result<Response<Outgoing>, Closed> {
    if answer.body().is_empty() {
        return Err(Closed);
    }
    Ok(answer.map(|body| {
        Either::Right(Half {
            half: Some(body.slice(..body.len() / 2)),
            whole: body.len() as u64,
            is_flushed: false,
        })
    }))
}

impl Body for Half {
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
        // An error would drop what waits to be written; a pause has it sent.
        self.is_flushed = true;
        context.waker().wake_by_ref();
        Poll::Pending
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.whole)
    }
}

/// What a proxy says that got no answer from behind it.
pub(super) fn bad_gateway() -> Response<Outgoing> {
    page(
        StatusCode::BAD_GATEWAY,
        "<!DOCTYPE html><html lang=\"en\"><title>502 Bad Gateway</title>\
         <h1>502 Bad Gateway</h1><p>A proxy says this, not the service.</p></html>\n",
    )
}

/// What something else says that stands where the service should be.
pub(super) fn strange_page() -> Response<Outgoing> {
    page(
        StatusCode::OK,
        "<!DOCTYPE html><html lang=\"en\"><title>Welcome</title>\
         <h1>Welcome to our network</h1><p>Accept the terms to go on.</p></html>\n",
    )
}

/// What the wire itself says when no broker is behind it.
pub(super) fn unreachable_broker() -> Response<Outgoing> {
    let mut answer = Response::new(Either::Left(Full::from(
        "The broker behind the wire cannot be reached, or the exchange with it broke off.\n",
    )));
    *answer.status_mut() = StatusCode::BAD_GATEWAY;
    answer
}

fn page(status: StatusCode, html: &'static str) -> Response<Outgoing> {
    let mut answer = Response::new(Either::Left(Full::from(html)));
    *answer.status_mut() = status;
    let html = HeaderValue::from_static("text/html; charset=utf-8");
    answer.headers_mut().insert(CONTENT_TYPE, html);
    answer
}
