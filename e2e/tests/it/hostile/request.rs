//! A request as the HTTP library would hand it to the broker, out of any bytes.

use hyper::Uri;
use hyper::header::{HeaderName, HeaderValue};
use reqwest::Method;

/// What crosses the door.
#[derive(Debug, Clone)]
pub(super) struct Request {
    pub(super) method: Method,
    pub(super) target: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
}

impl Request {
    /// A request with a JSON body.
    pub(super) fn posting(target: &str, body: &[u8]) -> Self {
        Self {
            method: Method::POST,
            target: target.to_owned(),
            headers: vec![("Content-Type".to_owned(), "application/json".to_owned())],
            body: body.to_vec(),
        }
    }

    /// Reads `METHOD TARGET`, a line for each header, an empty line, and the body;
    /// nothing, if method or target is what never comes as far as our code.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let end = bytes.windows(2).position(|pair| pair == b"\n\n");
        let (head, body) = match end {
            Some(end) => (&bytes[..end], &bytes[end + 2..]),
            None => (bytes.trim_ascii_end(), &b""[..]),
        };
        let mut lines = head.split(|byte| *byte == b'\n');
        let (method, target) = std::str::from_utf8(lines.next()?).ok()?.split_once(' ')?;
        let uri: Uri = target.parse().ok()?;
        Some(Self {
            method: known(method)?,
            target: uri.path_and_query()?.to_string(),
            headers: lines.filter_map(header).collect(),
            body: body.to_vec(),
        })
    }

    /// The path as it was written, without its query.
    pub(super) fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }
}

/// One line of a head. A header that the HTTP library refuses would end the request;
/// one that is no UTF-8 Rocket does not see. Both are left out here.
fn header(line: &[u8]) -> Option<(String, String)> {
    let colon = line.iter().position(|byte| *byte == b':')?;
    let name = HeaderName::from_bytes(&line[..colon]).ok()?;
    let value = HeaderValue::from_bytes(line[colon + 1..].trim_ascii()).ok()?;
    let text = String::from_utf8(value.as_bytes().to_vec()).ok()?;
    Some((name.to_string(), text))
}

/// A method that Rocket knows; it answers 400 to any other before it looks further.
fn known(method: &str) -> Option<Method> {
    let known: rocket::http::Method = method.parse().ok()?;
    known.as_str().parse().ok()
}
