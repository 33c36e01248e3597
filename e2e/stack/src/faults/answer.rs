//! The answer that a client gets instead of the broker's.

use hyper::body::Bytes;
use hyper::header::{
    CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, TE, TRAILER,
    TRANSFER_ENCODING, UPGRADE,
};
use hyper::{Response, StatusCode};

/// The statuses of an answer that ends its call.
const STATUSES: std::ops::RangeInclusive<u16> = 200..=599;

/// The headers that the proxy sets itself, from the body and the connection.
const OWN_HEADERS: [HeaderName; 7] = [
    CONNECTION,
    CONTENT_LENGTH,
    HeaderName::from_static("keep-alive"),
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
];

/// An answer in place of the broker's, by [`Fault::Answer`](super::Fault::Answer).
///
/// ```
/// use stack::faults::{FaultAnswer, FaultInjection};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let elsewhere = FaultAnswer::new(307, "")?.header("Location", "http://localhost:9/")?;
/// let read = "POST /v1/login/result".parse()?;
/// let redirected = FaultInjection::answer(read, elsewhere);
/// # Ok(()) }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FaultAnswer {
    status: StatusCode,
    headers: HeaderMap,
    body: Bytes,
}

/// The part of an answer that cannot be sent; the message names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MalformedAnswer {
    /// The status does not end a call.
    #[error("status: 200 to 599")]
    Status,
    /// There are too many headers.
    #[error("headers: at most {}", FaultAnswer::MAX_HEADERS)]
    TooManyHeaders,
    /// A header has no name that HTTP allows.
    #[error("headers: a name has letters, digits and hyphens, as in Content-Type")]
    HeaderName,
    /// A header has no value that HTTP allows.
    #[error("headers: a value is one line, as in text/html")]
    HeaderValue,
    /// The proxy sets this header itself.
    #[error("headers: the proxy sets content-length and the headers of the connection itself")]
    OwnHeader,
    /// The body is too long.
    #[error("body: at most {} bytes", FaultAnswer::MAX_BODY_BYTES)]
    Body,
}

impl FaultAnswer {
    /// The number of headers that an answer may have.
    pub const MAX_HEADERS: usize = 16;

    /// The length that its body may have.
    pub const MAX_BODY_BYTES: usize = 64 * 1024;

    /// An answer with this status and body, without headers.
    ///
    /// # Errors
    ///
    /// If the status is not one of 200 to 599, or the body is too long.
    pub fn new(status: u16, body: impl Into<String>) -> Result<Self, MalformedAnswer> {
        let status = Some(status).filter(|it| STATUSES.contains(it));
        let status = status.and_then(|it| StatusCode::from_u16(it).ok());
        let body = body.into();
        if body.len() > Self::MAX_BODY_BYTES {
            return Err(MalformedAnswer::Body);
        }
        Ok(Self {
            status: status.ok_or(MalformedAnswer::Status)?,
            headers: HeaderMap::new(),
            body: body.into(),
        })
    }

    /// The same answer with one more header.
    ///
    /// # Errors
    ///
    /// If HTTP does not allow the name or the value, if the proxy sets the header itself,
    /// or if there are too many.
    pub fn header(mut self, name: &str, value: &str) -> Result<Self, MalformedAnswer> {
        let name: HeaderName = name.parse().map_err(|_| MalformedAnswer::HeaderName)?;
        let value: HeaderValue = value.parse().map_err(|_| MalformedAnswer::HeaderValue)?;
        if OWN_HEADERS.contains(&name) {
            return Err(MalformedAnswer::OwnHeader);
        }
        if self.headers.len() == Self::MAX_HEADERS {
            return Err(MalformedAnswer::TooManyHeaders);
        }
        self.headers.append(name, value);
        Ok(self)
    }

    /// The status.
    pub fn status(&self) -> u16 {
        self.status.as_u16()
    }

    /// The response that the client gets.
    pub(crate) fn to_response(&self) -> Response<Bytes> {
        let mut response = Response::new(self.body.clone());
        *response.status_mut() = self.status;
        *response.headers_mut() = self.headers.clone();
        response
    }
}

/// 200 with an empty JSON object.
impl Default for FaultAnswer {
    fn default() -> Self {
        let json = HeaderValue::from_static("application/json");
        Self {
            status: StatusCode::OK,
            headers: HeaderMap::from_iter([(CONTENT_TYPE, json)]),
            body: Bytes::from_static(b"{}"),
        }
    }
}
