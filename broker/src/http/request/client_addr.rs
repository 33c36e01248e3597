//! Where a request comes from, as far as that is known.

use std::convert::Infallible;
use std::net::{IpAddr, Ipv6Addr};

use rocket::Request;
use rocket::request::{FromRequest, Outcome};

/// The address that a request comes from, if it tells one caller from another.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Source(pub(crate) Option<IpAddr>);

impl Source {
    /// The peer's address; with a proxy in front, what that says in its header.
    pub(crate) fn of(request: &Request<'_>) -> Self {
        let address = match request.rocket().config().ip_header {
            Some(_) => request.real_ip(),
            None => request.client_ip(),
        };
        Self(address.and_then(telling))
    }
}

/// This machine is a proxy that does not say for whom, or whoever tries us out:
/// its address is everybody's. An IPv6 host chooses its lower 64 bits as it likes.
fn telling(address: IpAddr) -> Option<IpAddr> {
    match address.to_canonical() {
        own if own.is_loopback() => None,
        IpAddr::V6(host) => Some(Ipv6Addr::from_bits(host.to_bits() >> 64 << 64).into()),
        host @ IpAddr::V4(_) => Some(host),
    }
}

#[rocket::async_trait]
impl<'r> FromRequest<'r> for Source {
    type Error = Infallible;

    async fn from_request(request: &'r Request<'_>) -> Outcome<Self, Infallible> {
        Outcome::Success(Source::of(request))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(address: &str, told: Option<&str>) {
        let told = told.map(|it| it.parse().unwrap());
        assert_eq!(telling(address.parse().unwrap()), told, "{address}");
    }

    #[test]
    fn an_address_tells_a_host_or_its_network_and_loopback_nobody() {
        check("203.0.113.7", Some("203.0.113.7"));
        check("::ffff:203.0.113.7", Some("203.0.113.7"));
        check("2001:db8:1:2:3:4:5:6", Some("2001:db8:1:2::"));
        check("127.0.0.9", None);
        check("::1", None);
        check("::ffff:127.0.0.1", None);
    }
}
