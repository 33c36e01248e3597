//! The shape of a URL that a browser may be sent to.

use url::{Host, Url};

/// HTTPS or HTTP loopback, without credentials, query or fragment, at most 2048
/// characters. The error says what was expected.
pub(crate) fn check_plain_url(text: &str) -> Result<(), &'static str> {
    if text.chars().count() > 2048 {
        return Err("expected at most 2048 characters");
    }
    let url = Url::parse(text).map_err(|_| "expected a URL")?;
    if !is_safe(&url) {
        return Err("expected HTTPS, or HTTP on loopback");
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("expected no credentials in the URL");
    }
    if text.contains('?') {
        return Err("expected no query");
    }
    if text.contains('#') {
        return Err("expected no fragment");
    }
    Ok(())
}

fn is_safe(url: &Url) -> bool {
    match url.scheme() {
        "https" => url.has_host(),
        "http" => url.host().is_some_and(|host| is_loopback(&host)),
        _ => false,
    }
}

/// Plain HTTP to this machine.
pub(crate) fn is_http_loopback(text: &str) -> bool {
    text.starts_with("http:") && check_plain_url(text).is_ok()
}

/// Whether both URLs have the same scheme, host and port.
pub(crate) fn is_same_origin(one: &str, other: &str) -> bool {
    match (Url::parse(one), Url::parse(other)) {
        (Ok(one), Ok(other)) => one.origin() == other.origin(),
        _ => false,
    }
}

fn is_loopback(host: &Host<&str>) -> bool {
    match host {
        Host::Domain(name) => *name == "localhost",
        Host::Ipv4(ip) => ip.is_loopback(),
        Host::Ipv6(ip) => ip.is_loopback(),
    }
}
