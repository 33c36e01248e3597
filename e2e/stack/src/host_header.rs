//! The form of a `Host` header.

use hyper::http::uri::Authority;

/// Whether `value` is a host, with a port if need be (RFC 9110, section 7.2).
///
/// A request with another one is answered 400, as one without `Host` and one with two
/// (RFC 9112, section 3.2).
pub(crate) fn is_valid(value: &str) -> bool {
    let Ok(authority) = value.parse::<Authority>() else {
        return false;
    };
    // User information is before the host, and is none of `Host`.
    let port = value.strip_prefix(authority.host());
    let port = port.map(|rest| rest.strip_prefix(':').unwrap_or(rest));
    !authority.host().is_empty()
        && port.is_some_and(|port| port.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_header_is_a_host_with_a_port_if_need_be() {
        for valid in [
            "x",
            "a.example:80",
            "127.0.0.1",
            "[::1]:8010",
            "LOCALHOST:",
            "a_b",
        ] {
            assert!(is_valid(valid), "{valid}");
        }
        for invalid in [
            "", ":80", "a b", "a/b", "http://a", "a?b", "me@a", "a:b", "a:1:2", "[::1", "::1",
            "a\\b", "é",
        ] {
            assert!(!is_valid(invalid), "{invalid}");
        }
    }
}
