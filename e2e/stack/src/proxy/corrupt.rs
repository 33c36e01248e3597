//! The bodies and pages that faults send instead of the broker's response.

use std::pin::Pin;
use std::task::{Context, Poll};

use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Either, Full};
use hyper::body::{Body, Bytes, Frame, SizeHint};
use hyper::header::{CONNECTION, CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};

use super::headers::UnforwardableRequest;

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

/// A body that a fault makes.
pub(super) fn faulty(body: impl Body<Data = Bytes, Error = Closed> + Send + 'static) -> ClientBody {
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

/// The page of a gateway whose backend did not answer.
pub(super) fn bad_gateway() -> Response<ClientBody> {
    page(
        StatusCode::BAD_GATEWAY,
        "<!DOCTYPE html><html lang=\"en\"><title>502 Bad Gateway</title>\
         <h1>502 Bad Gateway</h1><p>A proxy says this, not the service.</p></html>\n",
    )
}

/// The page of a captive portal.
pub(super) fn foreign_page() -> Response<ClientBody> {
    page(
        StatusCode::OK,
        "<!DOCTYPE html><html lang=\"en\"><title>Welcome</title>\
         <h1>Welcome to our network</h1><p>Accept the terms to go on.</p></html>\n",
    )
}

/// The proxy's own answer to a request that it cannot forward.
pub(super) fn refused_request(refused: &UnforwardableRequest) -> Response<ClientBody> {
    let mut response = Response::new(Either::Left(Full::from(format!("{refused}.\n"))));
    *response.status_mut() = refused.status();
    // Where its body ends may be another matter for the next reader.
    let close = HeaderValue::from_static("close");
    response.headers_mut().insert(CONNECTION, close);
    response
}

/// The proxy's own error when the broker cannot be reached.
pub(super) fn broker_unreachable() -> Response<ClientBody> {
    let mut response = Response::new(Either::Left(Full::from(
        "The broker behind the proxy cannot be reached, or the exchange with it broke off.\n",
    )));
    *response.status_mut() = StatusCode::BAD_GATEWAY;
    response
}

fn page(status: StatusCode, html: &'static str) -> Response<ClientBody> {
    let mut response = Response::new(Either::Left(Full::from(html)));
    *response.status_mut() = status;
    let html = HeaderValue::from_static("text/html; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, html);
    response
}
