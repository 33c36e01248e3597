//! The traits of a browser that a cookie planted in another does not carry over.
//!
//! A cookie knows its host, but no port: a server on another port of the broker's host
//! name can plant, in its visitor's browser, the upstream login of a client of its own.
//! So the cookie of an upstream login says how its browser looked and which network it
//! came from. A browser that comes back otherwise is asked before anything is consumed.
//! An attacker can copy how a browser looks, but not its network.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use contract::Digest;

/// The traits of one browser, each as the first bytes of its digest. The default is no
/// browser's.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BrowserTraits {
    look: [u8; 8],
    network: [u8; 8],
}

/// The traits that a browser has in common with an earlier one, each as a flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SameTraits {
    /// The headers by which a browser introduces itself.
    pub look: bool,
    /// The network of its address.
    pub network: bool,
}

impl SameTraits {
    /// Whether every trait is the same.
    pub fn all(self) -> bool {
        self.look && self.network
    }
}

impl BrowserTraits {
    /// The traits of a browser with this `look`, at this address, if the address
    /// distinguishes one client from another.
    pub fn of(look: &str, address: Option<IpAddr>) -> Self {
        let network = address.map(network).map(|it| it.to_string());
        Self {
            look: short(look),
            network: short(&network.unwrap_or_default()),
        }
    }

    /// The traits that are the same `now`.
    pub fn compare(self, now: Self) -> SameTraits {
        SameTraits {
            look: self.look == now.look,
            network: self.network == now.network,
        }
    }

    /// 22 characters of base64url, for a cookie.
    pub fn to_text(self) -> String {
        URL_SAFE_NO_PAD.encode([self.look, self.network].concat())
    }

    /// The traits in a cookie; no browser's, if the text has none.
    pub fn from_text(text: &str) -> Self {
        let bytes = URL_SAFE_NO_PAD.decode(text).unwrap_or_default();
        let (look, network) = bytes.split_at(bytes.len() / 2);
        match (look.try_into(), network.try_into()) {
            (Ok(look), Ok(network)) => Self { look, network },
            _ => Self::default(),
        }
    }
}

/// The beginning of a digest is enough to tell two browsers apart, and keeps the cookie
/// small.
fn short(text: &str) -> [u8; 8] {
    let digest = Digest::derive("browser trait", text.as_bytes());
    let (start, _) = digest.as_bytes().split_at(8);
    start.try_into().expect("a digest has 32 bytes")
}

/// A provider moves its customers within a network: 256 addresses of IPv4, and the /48
/// of IPv6 that one site gets.
fn network(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(host) => Ipv4Addr::from_bits(host.to_bits() >> 8 << 8).into(),
        IpAddr::V6(host) => Ipv6Addr::from_bits(host.to_bits() >> 80 << 80).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(then: (&str, &str), now: (&str, &str), look: bool, network: bool) {
        let traits = |(look, address): (&str, &str)| BrowserTraits::of(look, address.parse().ok());
        let kept = BrowserTraits::from_text(&traits(then).to_text());
        assert_eq!(kept.compare(traits(now)), SameTraits { look, network });
    }

    #[test]
    fn a_browser_is_the_same_by_its_look_and_by_its_network() {
        let then = ("firefox", "203.0.113.7");
        check(then, ("firefox", "203.0.113.200"), true, true);
        check(then, ("curl", "203.0.113.7"), false, true);
        check(then, ("firefox", "203.0.114.7"), true, false);
        check(then, ("firefox", ""), true, false);
        check(("firefox", ""), ("firefox", ""), true, true);
        let then = ("", "2001:db8:1:2::3");
        check(then, ("", "2001:db8:1:ffff::9"), true, true);
        check(then, ("", "2001:db8:2:2::3"), true, false);
    }

    #[test]
    fn a_text_without_traits_is_no_browsers() {
        for text in ["", "AAAA", "%", &"A".repeat(23)] {
            let kept = BrowserTraits::from_text(text);
            let same = kept.compare(BrowserTraits::of("", None));
            assert!(!same.look && !same.network, "{text}");
        }
    }
}
