//! The relay guard, which decides whether a visit of an authorization URL goes to the
//! provider at once or sees the confirmation page first.
//!
//! The clean callback carries nothing, so an attacker who starts a login can send its
//! authorization URL to a victim and collect the profile that the victim signs in with.
//! But the victim's own browser reports the page that the visit began on, and the
//! attacker cannot change that. A visit is *vouched for* when it began on a page of the
//! project. At the provider's callback, [`BrowserTraits`] tell whether the browser is the
//! one that began, or only holds its cookie.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use contract::{Digest, Origin};
use serde::Deserialize;

/// The visits of a project's logins that see the confirmation page.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RelayGuard {
    /// The visits that are not vouched for.
    #[default]
    Auto,
    /// Every visit.
    Always,
    /// None.
    Off,
}

/// The visits of a project's logins for which the provider shows its account picker.
/// Only in the clean flow: the state of the legacy one protects it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SelectAccount {
    /// Every visit.
    #[default]
    Always,
    /// The visits that are not vouched for.
    Unvouched,
}

impl RelayGuard {
    /// Its name in the configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Always => "always",
            Self::Off => "off",
        }
    }

    /// Decides on a visit of this provenance. `is_local_client` marks a plain client of a
    /// broker whose consumers and providers are all on this machine.
    pub fn decide(self, provenance: Provenance, is_local_client: bool) -> RelayDecision {
        match (self, provenance) {
            (RelayGuard::Always, _) => RelayDecision::Confirm,
            _ if is_local_client => RelayDecision::PassUnbound,
            (RelayGuard::Off, _) | (RelayGuard::Auto, Provenance::Vouched) => RelayDecision::Bind,
            (RelayGuard::Auto, _) => RelayDecision::Confirm,
        }
    }
}

impl SelectAccount {
    /// Its name in the configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Always => "always",
            Self::Unvouched => "unvouched",
        }
    }

    /// Whether the picker is shown for a visit of this provenance.
    pub fn is_for(self, provenance: Provenance) -> bool {
        self == SelectAccount::Always || provenance != Provenance::Vouched
    }
}

/// The headers that a browser sends about the start of a navigation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Visit {
    /// The `Sec-Fetch-*` headers, if a browser sent them.
    pub fetch: Option<Fetch>,
    /// The page that the browser came from.
    pub referrer: Referrer,
}

/// `Sec-Fetch-Site`, `-Mode` and `-Dest`, if each came once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fetch {
    /// The relation of this site to the one that the navigation began on.
    pub site: Option<String>,
    /// The kind of request.
    pub mode: Option<String>,
    /// The use of the answer.
    pub dest: Option<String>,
}

/// The `Referer` of a visit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Referrer {
    /// There is none.
    Absent,
    /// A page of this origin.
    Page(String),
    /// A value that no browser sends.
    Unreadable,
}

/// The start of a visit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provenance {
    /// On a page of the project.
    Vouched,
    /// On another page.
    Foreign,
    /// On a page whose browser sends no `Referer`.
    NoReferrer,
    /// On no page: the address was typed, pasted, or opened by another program.
    Typed,
    /// In a part of a page: a picture, a frame, a script.
    Embedded,
    /// Unknown: the client sends no fetch metadata, and may not be a browser.
    NoMetadata,
}

impl Provenance {
    /// Its name in the audit log.
    pub fn as_str(self) -> &'static str {
        match self {
            Provenance::Vouched => "vouched",
            Provenance::Foreign => "foreign",
            Provenance::NoReferrer => "no_referrer",
            Provenance::Typed => "typed",
            Provenance::Embedded => "embedded",
            Provenance::NoMetadata => "no_metadata",
        }
    }

    /// Whether a browser reports that the visit did not begin on a page of the project.
    pub fn is_elsewhere(self) -> bool {
        !matches!(self, Provenance::Vouched | Provenance::NoMetadata)
    }
}

impl Visit {
    /// The provenance, for a project whose sign-ins start on `start_origins`.
    pub fn provenance(&self, start_origins: &[Origin]) -> Provenance {
        let is = |value: &Option<String>, expected| value.as_deref() == Some(expected);
        match &self.fetch {
            None => match self.began_on(start_origins) {
                Some(false) => Provenance::Foreign,
                // Any client can send a Referer; a browser sends the metadata with it.
                Some(true) | None => Provenance::NoMetadata,
            },
            Some(fetch) if !(is(&fetch.mode, "navigate") && is(&fetch.dest, "document")) => {
                Provenance::Embedded
            }
            Some(fetch) if fetch.site.is_none() => Provenance::NoMetadata,
            Some(fetch) if is(&fetch.site, "none") => Provenance::Typed,
            Some(_) => match self.began_on(start_origins) {
                None => Provenance::NoReferrer,
                Some(true) => Provenance::Vouched,
                Some(false) => Provenance::Foreign,
            },
        }
    }

    /// Whether the client is not a browser, and comes from no page but the project's or
    /// ours: curl, or a test.
    pub fn is_plain(&self, start_origins: &[Origin], ours: &Origin) -> bool {
        let began_with_us = self.began_on(std::slice::from_ref(ours)) == Some(true);
        self.fetch.is_none() && (began_with_us || self.began_on(start_origins) != Some(false))
    }

    /// Whether the visit began on a page of `origins`; `None` without a `Referer`.
    fn began_on(&self, origins: &[Origin]) -> Option<bool> {
        match &self.referrer {
            Referrer::Absent => None,
            Referrer::Page(page) => Some(origins.iter().any(|origin| origin.as_str() == page)),
            Referrer::Unreadable => Some(false),
        }
    }
}

/// The decision on a visit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RelayDecision {
    /// Bind the login to the browser, and redirect to the provider.
    Bind,
    /// Redirect to the provider without binding.
    PassUnbound,
    /// Show the confirmation page.
    Confirm,
}

/// The traits of one browser that a cookie planted in another does not carry over, each as the
/// first bytes of its digest. The default is no browser's.
///
/// A cookie knows its host, but no port: a server on another port of the broker's host
/// name can plant, in its visitor's browser, the upstream login of a client of its own.
/// So the cookie of an upstream login says how its browser looked and which network it
/// came from. A browser that comes back otherwise is asked before anything is consumed.
/// An attacker can copy how a browser looks, but not its network.
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
