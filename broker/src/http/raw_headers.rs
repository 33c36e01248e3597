//! A request's headers, read from their raw values: Rocket takes the first
//! of two `Content-Type` headers and refuses `application/json;`, which RFC 9110
//! allows.

use std::cmp::Reverse;

use rocket::http::HeaderMap;
use url::Url;

/// The value of a header that comes once.
pub(crate) fn only<'h>(headers: &'h HeaderMap<'_>, name: &str) -> Option<&'h str> {
    let mut values = headers.get(name);
    match (values.next(), values.next()) {
        (Some(value), None) => Some(value),
        _ => None,
    }
}

/// Whether `value` is `token`, compared without case and without its parameters.
pub(crate) fn is(value: &str, token: &str) -> bool {
    let before_parameters = value.split(';').next().unwrap_or_default();
    before_parameters.trim_ascii().eq_ignore_ascii_case(token)
}

/// Whether there is exactly one `Content-Type`, and that one is JSON.
pub(crate) fn is_json(headers: &HeaderMap<'_>) -> bool {
    only(headers, "Content-Type").is_some_and(|value| is(value, "application/json"))
}

/// Whether the body is marked as anything but itself, for its whole way or for one hop:
/// the HTTP library decodes `chunked` alone.
pub(crate) fn has_encoded_body(headers: &HeaderMap<'_>) -> bool {
    [
        ("Content-Encoding", "identity"),
        ("Transfer-Encoding", "chunked"),
    ]
    .into_iter()
    .flat_map(|(name, plain)| list(headers, name).map(move |coding| (coding, plain)))
    .any(|(coding, plain)| !coding.is_empty() && !coding.eq_ignore_ascii_case(plain))
}

/// Whether `Accept` names `text/html` and prefers it to JSON.
///
/// A higher weight wins (RFC 9110 section 12.5.1); of two equal weights a named type
/// wins over a wildcard, as older browsers send `text/html, */*`, and of two named
/// types the first.
pub(crate) fn prefers_html(headers: &HeaderMap<'_>) -> bool {
    let ranges: Vec<_> = list(headers, "Accept").filter_map(Range::read).collect();
    let html = preference(&ranges, &["text/html"]);
    html > preference(&ranges, &["application/json", "application/*", "*/*"])
        && html.is_some_and(|(weight, ..)| weight > 0)
}

/// The members of a header that is a list, which may come in several lines.
fn list<'h>(headers: &'h HeaderMap<'_>, name: &str) -> impl Iterator<Item = &'h str> {
    let lines = headers.get(name);
    lines.flat_map(|line| line.split(',')).map(str::trim_ascii)
}

/// Weight, whether the type is named, and how early it comes: the greater, the more
/// preferred.
type Preference = (u16, bool, Reverse<usize>);

/// The weight of the media type with these `names`, the most specific first.
fn preference(ranges: &[Range<'_>], names: &[&str]) -> Option<Preference> {
    names.iter().enumerate().find_map(|(wildcards, name)| {
        let index = ranges.iter().position(|range| is(range.name, name))?;
        Some((ranges[index].weight, wildcards == 0, Reverse(index)))
    })
}

/// One media range of an `Accept` header.
struct Range<'h> {
    name: &'h str,
    /// In thousandths.
    weight: u16,
}

impl<'h> Range<'h> {
    /// Nothing, if the weight cannot be read.
    fn read(text: &'h str) -> Option<Self> {
        let mut parameters = text.split(';').map(str::trim_ascii);
        let name = parameters.next()?;
        let weight = parameters.find_map(|parameter| {
            let (name, value) = parameter.split_once('=')?;
            name.eq_ignore_ascii_case("q").then_some(value)
        });
        Some(Self {
            name,
            weight: thousandths(weight.unwrap_or("1"))?,
        })
    }
}

/// A weight from 0 to 1, of which three decimals count.
fn thousandths(weight: &str) -> Option<u16> {
    let (whole, decimals) = weight.split_once('.').unwrap_or((weight, ""));
    let digits = format!("{whole}{decimals:0<3.3}");
    digits.parse().ok().filter(|weight| *weight <= 1000)
}

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
