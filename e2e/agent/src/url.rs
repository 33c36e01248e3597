//! The parts of addresses.

use ::url::{Host, Position, Url, form_urlencoded};

/// Whether the address is on this machine, as browsers define it: they resolve `localhost`
/// and every name below it themselves.
pub fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// The origin of an address, without a trailing slash.
pub fn origin(url: &Url) -> String {
    url.origin().ascii_serialization()
}

/// Whether both are addresses with the same scheme, host and port.
pub fn is_same_origin(one: &str, other: &str) -> bool {
    match (Url::parse(one), Url::parse(other)) {
        (Ok(one), Ok(other)) => one.origin() == other.origin(),
        _ => false,
    }
}

/// The part of an address that a request names.
pub fn path_and_query(url: &Url) -> String {
    url[Position::BeforePath..Position::AfterQuery].to_owned()
}

/// The first parameter of this name; none of what is no address.
pub fn parameter(url: &str, name: &str) -> Option<String> {
    let url = Url::parse(url).ok()?;
    let (_, value) = url.query_pairs().find(|(its, _)| its == name)?;
    Some(value.into_owned())
}

/// An address, or a path with a query, without the parameters of this name. The others stay
/// byte for byte.
pub fn without_parameter(url: &str, name: &str) -> String {
    let (path, query) = url.split_once('?').unwrap_or((url, ""));
    let others = query
        .split('&')
        .filter(|it| it.split('=').next() != Some(name));
    format!("{path}?{}", others.collect::<Vec<_>>().join("&"))
}

/// Parameters, or the fields of a form, as a query or a body.
pub fn encode<K: AsRef<str>, V: AsRef<str>>(pairs: &[(K, V)]) -> String {
    let pairs = pairs
        .iter()
        .map(|(name, value)| (name.as_ref(), value.as_ref()));
    form_urlencoded::Serializer::new(String::new())
        .extend_pairs(pairs)
        .finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_is_read_and_taken_out() {
        let url = "http://127.0.0.1:8000/authorize?state=a%20b&scope=x&state=c";
        assert_eq!(parameter(url, "state").as_deref(), Some("a b"));
        assert_eq!(parameter(url, "code"), None);
        let without = "http://127.0.0.1:8000/authorize?scope=x";
        assert_eq!(without_parameter(url, "state"), without);
    }
}
