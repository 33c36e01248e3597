//! The form of a `Host` header.

use url::Url;

/// Whether `value` is a host, with a port if need be (RFC 9110, section 7.2).
///
/// A request with another one is answered 400, as one without `Host` and one with two
/// (RFC 9112, section 3.2).
pub fn is_host(value: &str) -> bool {
    // What a URL has around a host is none of `Host`.
    let is_alone = value.is_ascii() && !value.contains(['/', '\\', '?', '#', '@', ' ', '\t']);
    is_alone && Url::parse(&format!("http://{value}/")).is_ok()
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
            assert!(is_host(valid), "{valid}");
        }
        for invalid in [
            "", ":80", "a b", "a/b", "http://a", "a?b", "me@a", "a:b", "a:1:2", "[::1", "::1",
            "a\\b", "é",
        ] {
            assert!(!is_host(invalid), "{invalid}");
        }
    }
}
