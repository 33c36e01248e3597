//! What crossed the wire in one exchange, with every secret masked.

use std::fmt;

use hyper::body::Bytes;
use hyper::header::CONTENT_TYPE;
use hyper::http::{request, response};
use serde::Serialize;
use serde_json::Value;

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
    /// A JSON body, indented; of another one, how long it is.
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

/// A request.
pub(crate) struct Heard {
    pub(crate) head: request::Parts,
    pub(crate) json: Option<Value>,
    /// How many bytes its body has, as far as the wire has read it.
    pub(crate) length: usize,
}

/// An answer of the broker.
pub(crate) struct Said {
    head: response::Parts,
    body: Bytes,
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
}

impl Heard {
    fn masked(&self, project: Option<&str>) -> Message {
        let head = &self.head;
        let path = head.uri.path_and_query().map_or("/", |it| it.as_str());
        Message {
            start: format!("{} {}", head.method, mask::address(path, project)),
            headers: mask::headers(&head.headers),
            body: match &self.json {
                Some(body) => Some(indented(&mask::request(body, project))),
                None => described(self.length, head.headers.get(CONTENT_TYPE)),
            },
        }
    }
}

impl Said {
    pub(crate) fn new(head: &response::Parts, body: &Bytes) -> Self {
        Self {
            head: head.clone(),
            body: body.clone(),
        }
    }

    fn masked(&self) -> Message {
        let (head, body) = (&self.head, &self.body);
        let json: Option<Value> = serde_json::from_slice(body).ok();
        Message {
            start: head.status.to_string(),
            headers: mask::headers(&head.headers),
            body: match json {
                Some(json) => Some(indented(&mask::answer(&json))),
                None => described(body.len(), head.headers.get(CONTENT_TYPE)),
            },
        }
    }
}

fn indented(body: &Value) -> String {
    serde_json::to_string_pretty(body).unwrap_or_default()
}

fn described(length: usize, content_type: Option<&hyper::header::HeaderValue>) -> Option<String> {
    let media_type = content_type
        .and_then(|it| it.to_str().ok())
        .and_then(|it| it.split(';').next())
        .filter(|it| it.len() < 40)
        .map(mask::scrubbed);
    match (length, media_type) {
        (0, _) => None,
        (_, None) => Some(format!("[{length} bytes]")),
        (_, Some(media_type)) => Some(format!("[{length} bytes of {media_type}]")),
    }
}
