//! The header in which a proxy says where a request comes from.

use serde::Deserialize;

/// The name of a header that only the proxy in front may set.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct IpHeader(String);

impl IpHeader {
    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Why a text is not the name of such a header.
#[derive(Debug, thiserror::Error)]
#[error(
    "expected the name of one header of letters, digits and hyphens that your proxy sets \
     to the client's address alone, like X-Real-IP"
)]
pub struct NoIpHeader;

impl TryFrom<String> for IpHeader {
    type Error = NoIpHeader;

    /// Underscores are refused: some proxies take `X_Real_IP` of a client for
    /// their own `X-Real-IP`. The headers that hold lists are refused, too.
    fn try_from(name: String) -> Result<Self, NoIpHeader> {
        let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '-';
        let is_list = ["x-forwarded-for", "forwarded"]
            .iter()
            .any(|list| name.eq_ignore_ascii_case(list));
        if name.is_empty() || !name.chars().all(is_of_name) || is_list {
            return Err(NoIpHeader);
        }
        Ok(Self(name))
    }
}
