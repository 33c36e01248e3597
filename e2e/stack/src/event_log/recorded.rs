//! The headers and bodies of recorded messages: their bytes up to a limit, parsed and
//! masked only when they are shown.

use hyper::HeaderMap;
use hyper::body::Bytes;
use hyper::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use serde_json::Value;

use crate::mask;

/// The limits of recorded headers and bodies, larger than any request of the contract.
const MAX_HEAD_BYTES: usize = 16 * 1024;
const MAX_BODY_BYTES: usize = 32 * 1024;

/// The headers of a message.
pub(super) struct RecordedHead {
    /// One `name: value` a line; `None` if they are too large to be kept.
    lines: Option<Box<[u8]>>,
    bytes: usize,
}

/// The body of a message.
pub(super) struct RecordedBody {
    /// The bytes, if they look like JSON and are small enough to be kept.
    json: Option<Box<[u8]>>,
    bytes: usize,
}

impl RecordedHead {
    pub(super) fn new(headers: &HeaderMap) -> Self {
        let bytes = headers
            .iter()
            .map(|(name, value)| name.as_str().len() + value.len() + 3);
        let bytes = bytes.sum();
        let lines = (bytes <= MAX_HEAD_BYTES).then(|| {
            let mut lines = Vec::with_capacity(bytes);
            for (name, value) in headers {
                lines.extend_from_slice(name.as_str().as_bytes());
                lines.extend_from_slice(b": ");
                lines.extend_from_slice(value.as_bytes());
                lines.push(b'\n');
            }
            lines.into_boxed_slice()
        });
        Self { lines, bytes }
    }

    /// The headers, masked.
    pub(super) fn masked(&self) -> Vec<(String, String)> {
        match self.lines {
            Some(_) => mask::headers(&self.headers()),
            None => {
                let says = format!("[{} bytes, too many to be kept]", self.bytes);
                vec![("headers".to_owned(), says)]
            }
        }
    }

    /// Whether the headers were small enough to be kept.
    pub(super) fn is_whole(&self) -> bool {
        self.lines.is_some()
    }

    pub(super) fn headers(&self) -> HeaderMap {
        let lines = self.lines.as_deref().unwrap_or_default();
        lines
            .split(|byte| *byte == b'\n')
            .filter_map(header)
            .collect()
    }

    pub(super) fn size_bytes(&self) -> usize {
        self.lines.as_ref().map_or(0, |lines| lines.len())
    }
}

fn header(line: &[u8]) -> Option<(HeaderName, HeaderValue)> {
    let colon = line.windows(2).position(|pair| pair == b": ")?;
    let (name, value) = (&line[..colon], &line[colon + 2..]);
    Some((name.try_into().ok()?, value.try_into().ok()?))
}

impl RecordedBody {
    /// Keeps the bytes if they may be JSON.
    pub(super) fn new(bytes: &[u8]) -> Self {
        let first = bytes.iter().find(|byte| !byte.is_ascii_whitespace());
        let is_json = matches!(first, Some(b'{' | b'['));
        Self {
            json: (is_json && bytes.len() <= MAX_BODY_BYTES).then(|| bytes.into()),
            bytes: bytes.len(),
        }
    }

    /// The bytes; `None` if they were not kept.
    pub(super) fn whole(&self) -> Option<Bytes> {
        match &self.json {
            Some(json) => Some(Bytes::copy_from_slice(json)),
            None => (self.bytes == 0).then(Bytes::new),
        }
    }

    /// A JSON body after `masked`, indented; of another body, its length.
    pub(super) fn shown(
        &self,
        head: &RecordedHead,
        masked: impl Fn(&Value) -> Value,
    ) -> Option<String> {
        match self.json() {
            Some(json) => serde_json::to_string_pretty(&masked(&json)).ok(),
            None => self.described(&head.headers()),
        }
    }

    /// The body, if it is JSON.
    pub(super) fn json(&self) -> Option<Value> {
        let json = self.json.as_deref()?;
        serde_json::from_slice(json).ok()
    }

    fn described(&self, headers: &HeaderMap) -> Option<String> {
        let media_type = headers
            .get(CONTENT_TYPE)
            .and_then(|it| it.to_str().ok())
            .and_then(|it| it.split(';').next())
            .filter(|it| it.len() < 40)
            .map(mask::scrub);
        match (self.bytes, media_type) {
            (0, _) => None,
            (bytes, None) => Some(format!("[{bytes} bytes]")),
            (bytes, Some(media_type)) => Some(format!("[{bytes} bytes of {media_type}]")),
        }
    }

    pub(super) fn size_bytes(&self) -> usize {
        self.json.as_ref().map_or(0, |json| json.len())
    }
}
