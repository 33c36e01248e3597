//! The header in which a proxy sends the client's address.

use serde::Deserialize;

/// The name of a header that only the proxy in front may set.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct IpHeader(String);

impl IpHeader {
    /// The header's name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A text is not the name of such a header.
#[derive(Debug, thiserror::Error)]
#[error(
    "expected the name of one header of letters, digits and hyphens that your proxy sets \
     to the client's address alone, like X-Real-IP"
)]
pub struct InvalidIpHeader;

impl TryFrom<String> for IpHeader {
    type Error = InvalidIpHeader;

    /// Underscores are rejected: some proxies treat a client's `X_Real_IP` as their own
    /// `X-Real-IP`. Headers that contain lists are rejected, too.
    fn try_from(name: String) -> Result<Self, InvalidIpHeader> {
        let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '-';
        let is_list = ["x-forwarded-for", "forwarded"]
            .iter()
            .any(|list| name.eq_ignore_ascii_case(list));
        if name.is_empty() || !name.chars().all(is_of_name) || is_list {
            return Err(InvalidIpHeader);
        }
        Ok(Self(name))
    }
}
