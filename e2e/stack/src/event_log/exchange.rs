//! One exchange between a client and the broker: as it is recorded, and as it is shown,
//! with every secret masked.

use std::fmt;
use std::time::Duration;

use hyper::body::Bytes;
use hyper::header::{CONTENT_TYPE, HeaderName, HeaderValue, LOCATION};
use hyper::http::{request, response};
use hyper::{HeaderMap, Method, Request, StatusCode};
use serde::Serialize;
use serde_json::Value;

use crate::mask;

/// A request and its response, masked. The fields are the members of its JSON.
#[derive(Debug, Serialize)]
pub struct Exchange {
    /// The `X-Request-Id` of the response, or an id of the proxy's without one.
    pub request_id: String,
    /// The request.
    pub request: Message,
    /// The broker's response, if it saw the call.
    pub answer: Option<Message>,
    /// The fault that the proxy injected: the client did not get `answer` as it is.
    pub fault: Option<&'static str>,
}

/// A request or a response, masked.
#[derive(Debug, Clone, Serialize)]
pub struct Message {
    /// The first line: `POST /v1/token`, or `200 OK`.
    pub start: String,
    /// Names and values of the headers.
    pub headers: Vec<(String, String)>,
    /// A JSON body, indented. Of another or a very long body, the length.
    pub body: Option<String>,
}

/// The headers that say something about a login; the others are folded away.
const TELLING_HEADERS: [&str; 15] = [
    "accept",
    "allow",
    "authorization",
    "content-type",
    "cookie",
    "host",
    "location",
    "origin",
    "referer",
    "retry-after",
    "sec-fetch-dest",
    "sec-fetch-site",
    "set-cookie",
    "www-authenticate",
    "x-request-id",
];

impl Message {
    /// The headers that say something about a login.
    pub(crate) fn telling_headers(&self) -> impl Iterator<Item = &(String, String)> {
        let is_telling = |(name, _): &&(String, String)| is_telling(name);
        self.headers.iter().filter(is_telling)
    }

    /// The other headers.
    pub(crate) fn other_headers(&self) -> Vec<&(String, String)> {
        let is_other = |(name, _): &&(String, String)| !is_telling(name);
        self.headers.iter().filter(is_other).collect()
    }
}

fn is_telling(name: &str) -> bool {
    TELLING_HEADERS.contains(&name)
}

/// An exchange as it is recorded, with its secrets. It is masked when it is read, so that
/// no call waits for that.
pub(crate) struct RecordedExchange {
    pub(crate) request_id: String,
    pub(crate) request: RecordedRequest,
    /// The `client_id` that the broker authenticated.
    pub(crate) project: Option<String>,
    /// The broker's response, if it saw the call.
    pub(crate) response: Option<RecordedResponse>,
    pub(crate) fault: Option<&'static str>,
    /// The time until the broker had answered.
    pub(crate) took: Duration,
}

/// The longest URL that is recorded whole.
const MAX_URL_BYTES: usize = 8 * 1024;

/// A request as it is recorded.
pub(crate) struct RecordedRequest {
    method: Method,
    url: Box<str>,
    content: RecordedContent,
}

/// A response of the broker as it is recorded.
pub(crate) struct RecordedResponse {
    status: StatusCode,
    content: RecordedContent,
}

/// Shows nothing, because an exchange holds secrets.
impl fmt::Debug for RecordedExchange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RecordedExchange([redacted])")
    }
}

impl RecordedExchange {
    /// The exchange with every secret masked.
    pub(super) fn masked(&self) -> Exchange {
        Exchange {
            request_id: self.request_id.clone(),
            request: self.request.masked(self.project.as_deref()),
            answer: self.response.as_ref().map(RecordedResponse::masked),
            fault: self.fault,
        }
    }

    /// The request with its secrets, to be sent again; `None` unless all of it was kept.
    pub(super) fn request(&self) -> Option<Request<Bytes>> {
        self.request.whole()
    }

    /// The `Location` of the response, masked.
    pub(super) fn location(&self) -> Option<String> {
        let headers = self.response.as_ref()?.content.headers();
        let location = headers.get(LOCATION)?.to_str().ok()?;
        Some(mask::url(location))
    }

    /// The JSON body of the broker's response, masked.
    pub(super) fn answer_body(&self) -> Option<Value> {
        let json = self.response.as_ref()?.content.json()?;
        Some(mask::response(&json))
    }

    /// The size of URL, headers and bodies, without the fixed size of every exchange.
    pub(super) fn size_bytes(&self) -> usize {
        let response = self.response.as_ref();
        let response = response.map_or(0, |it| it.content.size_bytes());
        self.request.url.len() + self.request.content.size_bytes() + response
    }
}

impl RecordedRequest {
    /// A request, with the part of its body that the proxy has buffered.
    pub(crate) fn new(head: &request::Parts, body: &[u8]) -> Self {
        let url = head.uri.path_and_query().map_or("/", |it| it.as_str());
        Self {
            method: head.method.clone(),
            url: match url.len() {
                0..=MAX_URL_BYTES => url.into(),
                _ => head.uri.path().chars().take(MAX_URL_BYTES).collect(),
            },
            content: RecordedContent::new(&head.headers, body),
        }
    }

    /// The request with its secrets, as it was sent; `None` unless all of it was kept.
    fn whole(&self) -> Option<Request<Bytes>> {
        if self.content.head.is_none() || self.url.len() == MAX_URL_BYTES {
            return None;
        }
        let mut request = Request::new(self.content.whole_body()?);
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = self.url.parse().ok()?;
        *request.headers_mut() = self.content.headers();
        Some(request)
    }

    fn masked(&self, project: Option<&str>) -> Message {
        let start = format!("{} {}", self.method, mask::url_of(&self.url, project));
        let masked = |body: &Value| mask::request(body, project);
        self.content.masked(start, masked)
    }
}

impl RecordedResponse {
    pub(crate) fn new(head: &response::Parts, body: &[u8]) -> Self {
        Self {
            status: head.status,
            content: RecordedContent::new(&head.headers, body),
        }
    }

    fn masked(&self) -> Message {
        let start = self.status.to_string();
        self.content.masked(start, mask::response)
    }
}

/// The limits of recorded headers and bodies, larger than any request of the contract.
const MAX_HEAD_BYTES: usize = 16 * 1024;
const MAX_BODY_BYTES: usize = 32 * 1024;

/// The headers and the body of a message.
struct RecordedContent {
    /// The headers, one `name: value` a line; `None` if they are too large to be kept.
    head: Option<Box<[u8]>>,
    head_bytes: usize,
    /// The body, if it looks like JSON and is small enough to be kept.
    json: Option<Box<[u8]>>,
    body_bytes: usize,
}

impl RecordedContent {
    fn new(headers: &HeaderMap, body: &[u8]) -> Self {
        let line = |(name, value): (&HeaderName, &HeaderValue)| {
            [name.as_str().as_bytes(), b": ", value.as_bytes(), b"\n"].concat()
        };
        let head: Vec<u8> = headers.iter().flat_map(line).collect();
        let head_bytes = head.len();
        let first = body.iter().find(|byte| !byte.is_ascii_whitespace());
        let is_json = matches!(first, Some(b'{' | b'['));
        Self {
            head: (head_bytes <= MAX_HEAD_BYTES).then(|| head.into()),
            head_bytes,
            json: (is_json && body.len() <= MAX_BODY_BYTES).then(|| body.into()),
            body_bytes: body.len(),
        }
    }

    fn headers(&self) -> HeaderMap {
        let lines = self.head.as_deref().unwrap_or_default();
        let lines = lines.split(|byte| *byte == b'\n');
        lines.filter_map(header).collect()
    }

    /// The body, if it is JSON.
    fn json(&self) -> Option<Value> {
        serde_json::from_slice(self.json.as_deref()?).ok()
    }

    /// The bytes of the body; `None` if they were not kept.
    fn whole_body(&self) -> Option<Bytes> {
        match &self.json {
            Some(json) => Some(Bytes::copy_from_slice(json)),
            None => (self.body_bytes == 0).then(Bytes::new),
        }
    }

    /// The message with this first line: a JSON body after `masked`, indented; of another body,
    /// its length.
    fn masked(&self, start: String, masked: impl Fn(&Value) -> Value) -> Message {
        let headers = self.headers();
        Message {
            start,
            body: match self.json() {
                Some(json) => serde_json::to_string_pretty(&masked(&json)).ok(),
                None => self.described_body(&headers),
            },
            headers: match self.head {
                Some(_) => mask::headers(&headers),
                None => {
                    let says = format!("[{} bytes, too many to be kept]", self.head_bytes);
                    vec![("headers".to_owned(), says)]
                }
            },
        }
    }

    fn described_body(&self, headers: &HeaderMap) -> Option<String> {
        let media_type = headers
            .get(CONTENT_TYPE)
            .and_then(|it| it.to_str().ok())
            .and_then(|it| it.split(';').next())
            .filter(|it| it.len() < 40)
            .map(mask::scrub);
        match (self.body_bytes, media_type) {
            (0, _) => None,
            (bytes, None) => Some(format!("[{bytes} bytes]")),
            (bytes, Some(media_type)) => Some(format!("[{bytes} bytes of {media_type}]")),
        }
    }

    fn size_bytes(&self) -> usize {
        let kept = [&self.head, &self.json].into_iter().flatten();
        kept.map(|bytes| bytes.len()).sum()
    }
}

fn header(line: &[u8]) -> Option<(HeaderName, HeaderValue)> {
    let colon = line.windows(2).position(|pair| pair == b": ")?;
    let (name, value) = (&line[..colon], &line[colon + 2..]);
    Some((name.try_into().ok()?, value.try_into().ok()?))
}
