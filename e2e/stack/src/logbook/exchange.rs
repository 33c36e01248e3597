//! What crossed the wire in one exchange, with every secret masked.

use std::fmt;

use hyper::header::LOCATION;
use hyper::http::{request, response};
use hyper::{Method, StatusCode};
use serde::Serialize;

use super::kept::{Body, Head};
use super::mask;

/// A request and its answer.
#[derive(Debug, Serialize)]
pub struct Exchange {
    /// The `X-Request-Id` of the answer; one of the wire's if there was none.
    pub request_id: String,
    /// What was asked.
    pub request: Message,
    /// What the broker answered, if it saw the call.
    pub answer: Option<Message>,
    /// The fault that the wire struck with: what the client got is another thing.
    pub fault: Option<&'static str>,
}

/// One half of an exchange.
#[derive(Debug, Clone, Serialize)]
pub struct Message {
    /// `POST /v1/token`, or `200 OK`.
    pub start: String,
    /// Names and values.
    pub headers: Vec<(String, String)>,
    /// A JSON body, indented; of another one, or of a very long one, how long it is.
    pub body: Option<String>,
}

/// An exchange as it is kept: nothing of it is shown before it is masked, which
/// costs time that no call should wait for.
pub(crate) struct Crossing {
    /// As in [`Exchange`].
    pub(crate) request_id: String,
    /// What was asked.
    pub(crate) heard: Heard,
    /// Whom the broker took the sender for.
    pub(crate) project: Option<String>,
    /// What the broker answered, if it saw the call.
    pub(crate) said: Option<Said>,
    /// As in [`Exchange`].
    pub(crate) fault: Option<&'static str>,
}

/// The most bytes of an address that are kept.
const MOST_ADDRESS_BYTES: usize = 8 * 1024;

/// A request.
pub(crate) struct Heard {
    method: Method,
    address: Box<str>,
    head: Head,
    body: Body,
}

/// An answer of the broker.
pub(crate) struct Said {
    status: StatusCode,
    head: Head,
    body: Body,
}

/// Nothing: it holds secrets.
impl fmt::Debug for Crossing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Crossing([redacted])")
    }
}

impl Crossing {
    /// The same with every secret masked.
    pub(super) fn masked(&self) -> Exchange {
        Exchange {
            request_id: self.request_id.clone(),
            request: self.heard.masked(self.project.as_deref()),
            answer: self.said.as_ref().map(Said::masked),
            fault: self.fault,
        }
    }

    /// The address that the answer sends a browser to, masked.
    pub(super) fn location(&self) -> Option<String> {
        let headers = self.said.as_ref()?.head.headers();
        let location = headers.get(LOCATION)?.to_str().ok()?;
        Some(mask::address(location, None))
    }

    /// The memory that it takes, in bytes, but for what every exchange takes.
    pub(super) fn bytes_held(&self) -> usize {
        let heard = &self.heard;
        let said = self.said.as_ref();
        let said = said.map_or(0, |it| it.head.bytes_held() + it.body.bytes_held());
        heard.address.len() + heard.head.bytes_held() + heard.body.bytes_held() + said
    }
}

impl Heard {
    /// A request with as much of its body as the wire has read.
    pub(crate) fn new(head: &request::Parts, body: &[u8]) -> Self {
        let address = head.uri.path_and_query().map_or("/", |it| it.as_str());
        Self {
            method: head.method.clone(),
            address: match address.len() {
                0..=MOST_ADDRESS_BYTES => address.into(),
                _ => head.uri.path().chars().take(MOST_ADDRESS_BYTES).collect(),
            },
            head: Head::of(&head.headers),
            body: Body::of(body),
        }
    }

    fn masked(&self, project: Option<&str>) -> Message {
        Message {
            start: format!("{} {}", self.method, mask::address(&self.address, project)),
            headers: self.head.masked(),
            body: self
                .body
                .shown(&self.head, |body| mask::request(body, project)),
        }
    }
}

impl Said {
    pub(crate) fn new(head: &response::Parts, body: &[u8]) -> Self {
        Self {
            status: head.status,
            head: Head::of(&head.headers),
            body: Body::of(body),
        }
    }

    fn masked(&self) -> Message {
        Message {
            start: self.status.to_string(),
            headers: self.head.masked(),
            body: self.body.shown(&self.head, mask::answer),
        }
    }
}
