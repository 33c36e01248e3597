//! The rules of the proxy for headers.

use hyper::header::{CONNECTION, HeaderMap, HeaderName, TE, TRANSFER_ENCODING, UPGRADE};

/// More headers than any honest client sends. The broker decides below that limit.
pub(super) const MAX_HEADERS: usize = 1000;

/// Removes the headers that concern a single connection (RFC 9110, section 7.6.1).
pub(super) fn drop_hop_by_hop(headers: &mut HeaderMap) {
    const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");
    for name in [CONNECTION, KEEP_ALIVE, TE, TRANSFER_ENCODING, UPGRADE] {
        headers.remove(name);
    }
}
