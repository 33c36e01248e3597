//! The name by which other machines reach this one.

use std::fmt;
use std::str::FromStr;

use url::Host;

/// A DNS name in lower case, like `stack.internal` or `stack`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostName(String);

impl HostName {
    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for HostName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for HostName {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let name = text.to_ascii_lowercase();
        if name == "localhost" {
            return Err("localhost is this machine alone: leave --host out");
        }
        // A name that ends in a number is an address to browsers.
        let is_domain = matches!(Host::parse(&name), Ok(Host::Domain(domain)) if domain == name);
        if is_domain && name.len() <= 253 && name.split('.').all(is_label) {
            Ok(Self(name))
        } else {
            Err(
                "expected a DNS name without a port, like stack.internal: letters, digits, \
                 hyphens and dots",
            )
        }
    }
}

/// Whether this is a label of a host name (RFC 1123, 2.1).
fn is_label(label: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    (1..=63).contains(&label.len())
        && label.bytes().all(is_plain)
        && !label.starts_with('-')
        && !label.ends_with('-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_name_is_a_dns_name_and_becomes_lower_case() {
        let longest = "a".repeat(63);
        for name in [
            "stack",
            "stack.internal",
            "a-1.b-2",
            "3com.example",
            &longest,
        ] {
            assert_eq!(name.parse::<HostName>().unwrap().as_str(), name);
        }
        let name: HostName = "Stack.Internal".parse().unwrap();
        assert_eq!(name.as_str(), "stack.internal");
    }

    #[test]
    fn an_address_a_port_or_a_url_is_no_host_name() {
        let (label, long) = ("a".repeat(64), [&*"a".repeat(63); 4].join("."));
        let shapes = [
            "", ".", "a.", ".a", "a..b", "-a", "a-", "a_b", "a b", "bücher", "*.a",
        ];
        let addresses = ["127.0.0.1", "10.0.0.7", "0x7f.1", "1", "[::1]", "::1"];
        let urls = ["stack:80", "https://stack", "stack/", "a\nb", &label, &long];
        for text in shapes.into_iter().chain(addresses).chain(urls) {
            let refused = text.parse::<HostName>().expect_err(text);
            assert!(refused.starts_with("expected a DNS name"), "{text}");
        }
        let refused = "Localhost".parse::<HostName>().unwrap_err();
        assert!(refused.contains("leave --host out"));
    }
}
