//! The client behind a request: its address, the look of its browser, and its cookies as it sent
//! them, byte for byte.
//!
//! Rocket's own jar percent-decodes the names of cookies and trims all of Unicode's white space.
//! A browser does neither, so it lets any sister subdomain set `%5F%5FHost-x`, and
//! the jar then presents that as `__Host-x`, which only this very host can set.
//!
//! Rocket drops a `Cookie` header with one byte that is not UTF-8, and all cookies with it.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};

use rocket::Request;
use rocket::http::HeaderMap;

use crate::http::dropped_headers::UNREADABLE;

/// The address of a client, if it distinguishes one from another: the peer's, or the one in
/// the header of a configured proxy.
pub(super) fn address(request: &Request<'_>) -> Option<IpAddr> {
    let address = match request.rocket().config().ip_header {
        Some(_) => request.real_ip(),
        None => request.client_ip(),
    };
    address.and_then(distinguishing)
}

/// Loopback is a proxy that does not forward the client's address, or a developer: all
/// clients share it. An IPv6 host chooses its lower 64 bits freely.
fn distinguishing(address: IpAddr) -> Option<IpAddr> {
    match address.to_canonical() {
        own if own.is_loopback() => None,
        IpAddr::V6(host) => Some(Ipv6Addr::from_bits(host.to_bits() >> 64 << 64).into()),
        host @ IpAddr::V4(_) => Some(host),
    }
}

/// Every header that browsers send alike from their first request to a host on.
const LOOK: [&str; 5] = [
    "User-Agent",
    "Accept-Language",
    "Sec-CH-UA",
    "Sec-CH-UA-Mobile",
    "Sec-CH-UA-Platform",
];

/// The headers by which a browser introduces itself, as one text. A client that sends no fetch
/// metadata looks different from a browser, which does.
pub(super) fn look(headers: &HeaderMap<'_>) -> String {
    let lines = LOOK.map(|name| headers.get(name).collect::<Vec<_>>().join("\n"));
    let is_browser = headers.contains("Sec-Fetch-Mode");
    format!("{}\n{is_browser}", lines.join("\n"))
}

/// The name and value of each cookie whose name starts with `prefix` and came once.
///
/// Of two cookies with one name, at least one was planted. Their order depends on their
/// paths and ages, so neither is used.
pub(super) fn cookies_with_prefix<'r>(
    headers: &'r HeaderMap<'_>,
    prefix: &'static str,
) -> impl Iterator<Item = (&'r str, &'r str)> {
    let mut cookies = HashMap::new();
    for (name, value) in pairs(headers).filter(|(name, _)| name.starts_with(prefix)) {
        cookies
            .entry(name)
            .and_modify(|value| *value = None)
            .or_insert(Some(value));
    }
    cookies
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)))
}

/// Whether cookies came that cannot be read.
pub(super) fn has_unreadable_cookies(headers: &HeaderMap<'_>) -> bool {
    headers.get("Cookie").any(|header| header == UNREADABLE)
}

/// Every pair, without the space or tab that separates it from its neighbours
/// (RFC 6265 section 4.2.1).
fn pairs<'r>(headers: &'r HeaderMap<'_>) -> impl Iterator<Item = (&'r str, &'r str)> {
    headers
        .get("Cookie")
        .flat_map(|header| header.split(';'))
        .filter_map(|pair| pair.trim_matches([' ', '\t']).split_once('='))
}

#[cfg(test)]
mod tests {
    use rocket::http::Header;

    use super::*;

    #[track_caller]
    fn check_address(address: &str, expected: Option<&str>) {
        let expected = expected.map(|it| it.parse().unwrap());
        assert_eq!(
            distinguishing(address.parse().unwrap()),
            expected,
            "{address}"
        );
    }

    #[test]
    fn an_address_distinguishes_hosts_or_their_networks_but_not_on_loopback() {
        check_address("203.0.113.7", Some("203.0.113.7"));
        check_address("::ffff:203.0.113.7", Some("203.0.113.7"));
        check_address("2001:db8:1:2:3:4:5:6", Some("2001:db8:1:2::"));
        check_address("127.0.0.9", None);
        check_address("::1", None);
        check_address("::ffff:127.0.0.1", None);
    }

    #[track_caller]
    fn check_cookies(lines: &[&str], expected: &[(&str, &str)]) {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.add(Header::new("Cookie", (*line).to_owned()));
        }
        let mut found: Vec<_> = cookies_with_prefix(&headers, "__Host-x").collect();
        found.sort_unstable();
        assert_eq!(found, expected, "{lines:?}");
    }

    #[test]
    fn a_cookie_is_found_under_the_name_that_the_browser_stored() {
        check_cookies(&["__Host-x1=a"], &[("__Host-x1", "a")]);
        check_cookies(
            &["other=o; __Host-x1=a; __Host-x2=b=c"],
            &[("__Host-x1", "a"), ("__Host-x2", "b=c")],
        );
        check_cookies(
            &["__Host-x1=a;\t__Host-x2=", "__Host-x3=%41"],
            &[("__Host-x1", "a"), ("__Host-x2", ""), ("__Host-x3", "%41")],
        );
    }

    #[test]
    fn a_name_that_only_decodes_or_trims_to_the_prefix_is_not_found() {
        for planted in [
            "%5F%5FHost-x1",
            "__%48ost-x1",
            "%5F%5F%48%6F%73%74%2D%78%31",
            "\u{2000}__Host-x1",
            "\u{85}__Host-x1",
            "__host-x1",
        ] {
            check_cookies(&[&format!("{planted}=p")], &[]);
            check_cookies(
                &[&format!("__Host-x1=a; {planted}=p")],
                &[("__Host-x1", "a")],
            );
        }
        // White space behind the name makes it another name, not the same one.
        check_cookies(&["__Host-x1\u{3000}=p"], &[("__Host-x1\u{3000}", "p")]);
    }

    #[test]
    fn of_two_cookies_with_one_name_neither_counts() {
        check_cookies(
            &["__Host-x1=a; __Host-x1=b; __Host-x2=c"],
            &[("__Host-x2", "c")],
        );
        check_cookies(&["__Host-x1=a", "__Host-x1=a"], &[]);
        check_cookies(&["__Host-x1=a; __Host-x1=b; __Host-x1=c"], &[]);
    }
}
