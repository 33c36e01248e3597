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
