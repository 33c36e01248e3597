//! The checks of this contract's URIs: callbacks, authorization URLs and origins.

use url::{Host, Url};

/// The maximum length of a URI of this contract, in characters.
pub const MAX_CHARS: usize = 2048;

/// Parses `text` if it is an HTTPS or HTTP loopback URL without credentials, query or
/// fragment.
pub(crate) fn callback_shaped(text: &str) -> Option<Url> {
    // The length first, so that no longer text is parsed.
    let is_candidate = text.len() <= MAX_CHARS && text.bytes().all(is_uri_byte);
    let url = is_candidate.then(|| Url::parse(text).ok()).flatten();
    url.filter(is_plain)
}

/// The fault of a callback or a base address that is none, as advice to its author; `None`
/// if it is none of the usual ones. It never repeats the text.
pub(crate) fn advice(text: &str) -> Option<&'static str> {
    let lower = text.to_ascii_lowercase();
    let is_http = lower.starts_with("http://");
    if !is_http && !lower.starts_with("https://") {
        return Some("write http:// or https:// in front");
    }
    if text.contains('?') {
        return Some("it has a query (from the ? on), which is not allowed here");
    }
    if text.contains('#') {
        return Some("it has a fragment (from the # on), which is not allowed here");
    }
    let url = Url::parse(text).ok()?;
    if !url.username().is_empty() || url.password().is_some() {
        return Some("it has credentials (before the @), which is not allowed here");
    }
    if is_http && !is_loopback(&url) {
        return Some("http is for localhost, 127.0.0.1 and [::1] only: write https");
    }
    let host_end = text.find("://").map(|at| at + 3)?;
    let host_end = text[host_end..]
        .find('/')
        .map_or(text.len(), |at| host_end + at);
    if text[..host_end] != lower[..host_end] {
        return Some("write the scheme and the host in lower case");
    }
    None
}

/// Whether RFC 3986 allows `byte` in a URI without query and fragment.
fn is_uri_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~:/[]@!$&'()*+,;=%".contains(&byte)
}

/// Whether a browser writes `url` as `text`, except for the slash of an empty path.
pub(crate) fn is_canonical(url: &Url, text: &str) -> bool {
    url.as_str() == text || (url.path() == "/" && url.as_str().strip_suffix('/') == Some(text))
}

fn is_plain(url: &Url) -> bool {
    is_trustworthy(url)
        && url.username().is_empty()
        && url.password().is_none()
        && url.query().is_none()
        && url.fragment().is_none()
        && has_whole_escapes(url.path())
        && !url.path().contains(['[', ']'])
}

/// Whether every `%` begins a percent-encoded byte.
fn has_whole_escapes(path: &str) -> bool {
    path.split('%').skip(1).all(|rest| {
        matches!(rest.as_bytes(), [high, low, ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit())
    })
}

/// Whether `url` is HTTPS, or HTTP to this machine.
fn is_trustworthy(url: &Url) -> bool {
    match url.scheme() {
        "https" => true,
        "http" => is_loopback(url),
        _ => false,
    }
}

/// Whether `url` names this machine. Exactly three forms do; `*.localhost` and
/// IPv4-mapped addresses do not, because not every resolver agrees on them.
pub(crate) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, part: &str) {
        let advice = advice(text).unwrap_or("none");
        assert!(advice.contains(part), "{text}: {advice}");
    }

    #[test]
    fn the_advice_names_the_fault() {
        check("localhost:5173/x", "http://");
        check("http://localhost:5173/x?y=1", "query");
        check("http://localhost:5173/x#y", "fragment");
        check("http://a:b@localhost:5173/x", "credentials");
        check("http://example.com/x", "localhost");
        check("http://LOCALHOST:5173/x", "lower case");
        check("HTTPS://app.example/x", "lower case");
        check("https://app.example/X", "none");
    }
}
