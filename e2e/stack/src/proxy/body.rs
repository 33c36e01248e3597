//! A request body on its way to the broker.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Bytes, Frame, Incoming, SizeHint};
use hyper::header::CONTENT_LENGTH;
use hyper::http::request::Parts;
use tokio::time::{Sleep, sleep};

use super::corrupt::Closed;

/// Bodies up to this size are read whole before they are forwarded: twice the broker's
/// limit. Of a larger body this much is forwarded before the [`REFUSAL_WAIT`].
const BUFFER_BYTES: usize = 64 * 1024;

/// The time that the broker has to refuse a large body after its beginning. It stops
/// reading then, and a client that goes on writing may lose the answer.
const REFUSAL_WAIT: Duration = Duration::from_secs(2);

/// The buffered start of a body, and the remainder of a large one.
#[derive(Debug)]
pub(super) struct ForwardedBody {
    start: Bytes,
    is_started: bool,
    rest: Option<Remainder>,
}

#[derive(Debug)]
struct Remainder {
    incoming: Incoming,
    passed: usize,
    pause: Option<Pin<Box<Sleep>>>,
}

impl ForwardedBody {
    pub(super) async fn read(head: &Parts, mut incoming: Incoming) -> Result<Self, Closed> {
        let mut start = Vec::new();
        let mut is_whole = incoming.is_end_stream();
        while !is_whole && !is_large(head) && start.len() <= BUFFER_BYTES {
            match incoming.frame().await {
                Some(Ok(frame)) => start.extend(frame.into_data().unwrap_or_default()),
                // The client is gone.
                Some(Err(_)) => return Err(Closed),
                None => is_whole = true,
            }
        }
        let rest = Remainder {
            incoming,
            passed: start.len(),
            pause: None,
        };
        Ok(Self {
            start: start.into(),
            is_started: false,
            rest: (!is_whole).then_some(rest),
        })
    }

    /// A body that is known already.
    pub(super) fn of(whole: Bytes) -> Self {
        Self {
            start: whole,
            is_started: false,
            rest: None,
        }
    }

    /// The buffered start.
    pub(super) fn start(&self) -> &[u8] {
        &self.start
    }

    /// The whole body, unless it is large.
    pub(super) fn whole(&self) -> Option<&[u8]> {
        self.rest.is_none().then_some(&*self.start)
    }
}

fn is_large(head: &Parts) -> bool {
    let length = head.headers.get(CONTENT_LENGTH);
    let length = length.and_then(|it| it.to_str().ok()?.parse::<usize>().ok());
    length.is_some_and(|length| length > BUFFER_BYTES)
}

impl hyper::body::Body for ForwardedBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        if !self.is_started && !self.start.is_empty() {
            self.is_started = true;
            return Poll::Ready(Some(Ok(Frame::data(self.start.clone()))));
        }
        match &mut self.rest {
            Some(rest) => rest.poll(context),
            None => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_none() && (self.is_started || self.start.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        match self.rest {
            Some(_) => SizeHint::default(),
            None => SizeHint::with_exact(self.start.len() as u64),
        }
    }
}

impl Remainder {
    #[expect(
        clippy::disallowed_methods,
        reason = "waits for the broker in real time, whatever our clock shows"
    )]
    fn poll(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        if self.passed > BUFFER_BYTES {
            let pause = self
                .pause
                .get_or_insert_with(|| Box::pin(sleep(REFUSAL_WAIT)));
            if pause.as_mut().poll(context).is_pending() {
                return Poll::Pending;
            }
        }
        let frame = Pin::new(&mut self.incoming).poll_frame(context);
        if let Poll::Ready(Some(Ok(frame))) = &frame {
            self.passed += frame.data_ref().map_or(0, Bytes::len);
        }
        frame
    }
}
