//! A request as the HTTP library would hand it to Rocket, read from any bytes.

use hyper::Uri;
use hyper::header::{HeaderName, HeaderValue};
use rocket::http::uri::Origin;
use rocket::http::{Cookie, Header, Method};
use rocket::local::blocking::{Client, LocalResponse};

/// A request to a Rocket server.
#[derive(Debug, Clone)]
pub struct FuzzRequest {
    /// The method.
    pub method: Method,
    /// The path and the query.
    pub target: Uri,
    /// The headers: names in lower case, and values.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl FuzzRequest {
    /// Reads `METHOD TARGET`, a line for each header, an empty line, and the body.
    /// Returns `None` for a method or a target that never gets as far as Rocket's routes.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let end = bytes.windows(2).position(|pair| pair == b"\n\n");
        let (head, body) = match end {
            Some(end) => (&bytes[..end], &bytes[end + 2..]),
            None => (bytes.trim_ascii_end(), &b""[..]),
        };
        let mut lines = head.split(|byte| *byte == b'\n');
        let (method, target) = std::str::from_utf8(lines.next()?).ok()?.split_once(' ')?;
        let target: Uri = target.parse().ok()?;
        target.path_and_query()?;
        Some(Self {
            method: method.parse().ok()?,
            target,
            headers: lines.filter_map(header).collect(),
            body: body.to_vec(),
        })
    }

    /// The same with another body.
    #[must_use]
    pub fn with_body(mut self, body: &[u8]) -> Self {
        self.body = body.to_vec();
        self
    }

    /// Sends it to the server of `client`, as the HTTP library would, which accepts more
    /// than Rocket's own parser of addresses. Without a `Host` of its own it gets one, or
    /// every request would be refused for that.
    pub fn send<'c>(&self, client: &'c Client) -> LocalResponse<'c> {
        let query = self.target.query().map(ToOwned::to_owned);
        let target = Origin::new(self.target.path().to_owned(), query);
        let mut request = client.req(self.method, target).body(&self.body);
        if self.headers.iter().all(|(name, _)| name != "host") {
            request.add_header(Header::new("Host", "fuzzed"));
        }
        for (name, value) in &self.headers {
            request.add_header(Header::new(name.clone(), value.clone()));
        }
        let lines = self.headers.iter().filter(|(name, _)| name == "cookie");
        let cookies = lines.flat_map(|(_, line)| line.split(';'));
        let cookies = cookies.filter_map(|it| Cookie::parse_encoded(it.trim()).ok());
        request.cookies(cookies).dispatch()
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
