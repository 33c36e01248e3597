//! The address of a client, and the look of its browser.

use std::net::{IpAddr, Ipv6Addr};

use rocket::Request;
use rocket::http::HeaderMap;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(address: &str, expected: Option<&str>) {
        let expected = expected.map(|it| it.parse().unwrap());
        assert_eq!(
            distinguishing(address.parse().unwrap()),
            expected,
            "{address}"
        );
    }

    #[test]
    fn an_address_distinguishes_hosts_or_their_networks_but_not_on_loopback() {
        check("203.0.113.7", Some("203.0.113.7"));
        check("::ffff:203.0.113.7", Some("203.0.113.7"));
        check("2001:db8:1:2:3:4:5:6", Some("2001:db8:1:2::"));
        check("127.0.0.9", None);
        check("::1", None);
        check("::ffff:127.0.0.1", None);
    }
}
