//! The rules of the proxy for headers.

use broker::http::is_host;
use hyper::header::{CONNECTION, HOST, HeaderMap, HeaderName, TE, TRANSFER_ENCODING, UPGRADE};
use hyper::{StatusCode, Version};

/// More headers than any honest client sends. The broker decides below that limit.
pub(super) const MAX_HEADERS: usize = 1000;

/// A request that the proxy refuses, because it would have to forward it as another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum UnforwardableRequest {
    #[error("A request has exactly one Host, a name or an address with its port")]
    Host,
    #[error("Transfer-Encoding: this address reads chunked alone")]
    TransferEncoding,
    #[error("Upgrade: this address speaks no WebSocket")]
    WebSocket,
}

impl UnforwardableRequest {
    pub(super) fn status(self) -> StatusCode {
        match self {
            Self::Host | Self::WebSocket => StatusCode::BAD_REQUEST,
            Self::TransferEncoding => StatusCode::NOT_IMPLEMENTED,
        }
    }
}

/// Checks what the proxy would change: the `Host`, a coding of the body, an upgrade.
pub(super) fn check(version: Version, headers: &HeaderMap) -> Result<(), UnforwardableRequest> {
    let mut hosts = headers.get_all(HOST).iter();
    let has_host = match (hosts.next(), hosts.next()) {
        (Some(host), None) => host.to_str().is_ok_and(is_host),
        (None, _) => version < Version::HTTP_11,
        (Some(_), Some(_)) => false,
    };
    if !has_host {
        return Err(UnforwardableRequest::Host);
    }
    let mut codings = headers.get_all(TRANSFER_ENCODING).iter();
    let is_readable = match (codings.next(), codings.next()) {
        (None, _) => true,
        (Some(coding), None) => coding.as_bytes().eq_ignore_ascii_case(b"chunked"),
        (Some(_), Some(_)) => false,
    };
    if !is_readable {
        return Err(UnforwardableRequest::TransferEncoding);
    }
    // Without its upgrade, the handshake of a page would be the request of a program.
    let mut upgrades = tokens(headers, UPGRADE);
    match upgrades.any(|protocol| protocol.eq_ignore_ascii_case(b"websocket")) {
        true => Err(UnforwardableRequest::WebSocket),
        false => Ok(()),
    }
}

/// Removes the headers that concern a single connection (RFC 9110, section 7.6.1).
pub(super) fn drop_hop_by_hop(headers: &mut HeaderMap) {
    const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");
    let named = tokens(headers, CONNECTION).filter_map(|name| name.try_into().ok());
    let named: Vec<HeaderName> = named.collect();
    for name in named {
        headers.remove(name);
    }
    for name in [CONNECTION, KEEP_ALIVE, TE, TRANSFER_ENCODING, UPGRADE] {
        headers.remove(name);
    }
}

/// The members of a list in the headers called `name`.
fn tokens(headers: &HeaderMap, name: HeaderName) -> impl Iterator<Item = &[u8]> {
    let lines = headers.get_all(name).into_iter();
    let members = lines.flat_map(|line| line.as_bytes().split(|byte| *byte == b','));
    members.map(<[u8]>::trim_ascii)
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    fn headers(lines: &[(&str, &str)]) -> HeaderMap {
        let lines = lines.iter().map(|(name, value)| {
            let name: HeaderName = name.parse().expect("a name");
            (
                name,
                HeaderValue::from_bytes(value.as_bytes()).expect("a value"),
            )
        });
        lines.collect()
    }

    #[test]
    fn a_header_that_connection_names_is_not_forwarded() {
        let mut sent = headers(&[
            ("connection", "close, X-Hop"),
            ("connection", "x-other,,no name, \u{e9}"),
            ("x-hop", "a"),
            ("x-hop", "b"),
            ("x-other", "c"),
            ("keep-alive", "timeout=5"),
            ("x-end-to-end", "d"),
        ]);
        drop_hop_by_hop(&mut sent);
        assert_eq!(sent, headers(&[("x-end-to-end", "d")]));
    }
}
