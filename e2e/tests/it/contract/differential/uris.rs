//! The shape of a callback by the specification and this kit's choices: first what a
//! pattern can express, then what it cannot.

use std::net::{Ipv4Addr, Ipv6Addr};

/// An address in its parts. Nothing is unescaped.
struct Parts<'a> {
    scheme: &'a str,
    host: &'a str,
    port: Option<&'a str>,
    path: &'a str,
}

/// HTTPS, or HTTP to this machine; no credentials, no query, no fragment; the
/// characters of a URI; at most 2048 of them.
pub(super) fn looks_right(text: &str) -> bool {
    let Some(parts) = split(text) else {
        return false;
    };
    let is_host_right = match parts.scheme {
        "https" => is_name(parts.host) || is_bracketed(parts.host),
        "http" => is_loopback(parts.host),
        _ => false,
    };
    let digits = |port: &str| (1..=5).contains(&port.len()) && port.chars().all(is_digit);
    text.chars().count() <= 2048
        && is_host_right
        && parts.port.is_none_or(digits)
        && is_path(parts.path)
}

/// Whether a browser would write `text` like this, which looks right.
pub(super) fn is_canonical(text: &str) -> bool {
    let parts = split(text).expect("it looks right");
    let default = if parts.scheme == "https" { "443" } else { "80" };
    let is_port_canonical = |port: &str| {
        port != default
            && port
                .parse::<u16>()
                .is_ok_and(|number| number.to_string() == port)
    };
    parts.port.is_none_or(is_port_canonical)
        && is_host_canonical(parts.host)
        && !parts.path.split('/').any(is_dots)
}

fn split(text: &str) -> Option<Parts<'_>> {
    let (scheme, rest) = text.split_once("://")?;
    let (authority, path) = match rest.find('/') {
        Some(slash) => rest.split_at(slash),
        None => (rest, ""),
    };
    // The colons of an address in brackets begin no port.
    let end_of_host = authority.find(']').map_or(0, |bracket| bracket + 1);
    let (host, port) = match authority[end_of_host..].find(':') {
        Some(colon) => {
            let (host, port) = authority.split_at(end_of_host + colon);
            (host, Some(&port[1..]))
        }
        None => (authority, None),
    };
    Some(Parts {
        scheme,
        host,
        port,
        path,
    })
}

fn is_digit(character: char) -> bool {
    character.is_ascii_digit()
}

fn is_name(host: &str) -> bool {
    let is_part =
        |it: char| it.is_ascii_lowercase() || it.is_ascii_digit() || "-._~!$&'()*+,;=".contains(it);
    !host.is_empty() && host.chars().all(is_part)
}

fn bracketed(host: &str) -> Option<&str> {
    host.strip_prefix('[')?.strip_suffix(']')
}

fn is_bracketed(host: &str) -> bool {
    let is_part = |it: char| matches!(it, '0'..='9' | 'a'..='f' | ':' | '.');
    bracketed(host).is_some_and(|address| !address.is_empty() && address.chars().all(is_part))
}

fn is_loopback(host: &str) -> bool {
    let mut numbers = host.split('.');
    let is_number = |it: &str| (1..=3).contains(&it.len()) && it.chars().all(is_digit);
    let is_of_this_machine =
        numbers.next() == Some("127") && host.split('.').count() == 4 && numbers.all(is_number);
    host == "localhost" || host == "[::1]" || is_of_this_machine
}

/// Empty, or absolute and of the characters of a path, with whole escapes.
fn is_path(path: &str) -> bool {
    let mut rest = path.chars();
    if path.is_empty() {
        return true;
    }
    if rest.next() != Some('/') {
        return false;
    }
    while let Some(character) = rest.next() {
        let is_right = match character {
            '%' => {
                let mut is_hex = || rest.next().is_some_and(|it| it.is_ascii_hexdigit());
                is_hex() && is_hex()
            }
            it => it.is_ascii_alphanumeric() || "-._~!$&'()*+,;=:@/".contains(it),
        };
        if !is_right {
            return false;
        }
    }
    true
}

/// Whether a browser would take this segment as "here" or "up".
fn is_dots(segment: &str) -> bool {
    let dots = segment.to_ascii_lowercase().replace("%2e", ".");
    dots == "." || dots == ".."
}

/// A name is; an address of numbers is in one form alone.
fn is_host_canonical(host: &str) -> bool {
    if let Some(address) = bracketed(host) {
        let parsed = address.parse::<Ipv6Addr>();
        return parsed.is_ok_and(|parsed| written(parsed) == address);
    }
    let last = host.strip_suffix('.').unwrap_or(host);
    let last = last.rsplit('.').next().unwrap_or_default();
    let is_hex = |it: &str| {
        it.strip_prefix("0x")
            .is_some_and(|digits| digits.chars().all(|it| it.is_ascii_hexdigit()))
    };
    let is_number = (!last.is_empty() && last.chars().all(is_digit)) || is_hex(last);
    !is_number || host.parse::<Ipv4Addr>().is_ok()
}

/// As a browser spells it: never with the dots of version 4.
fn written(address: Ipv6Addr) -> String {
    match address.segments() {
        [0, 0, 0, 0, 0, 0xffff, high, low] => format!("::ffff:{high:x}:{low:x}"),
        _ => address.to_string(),
    }
}
