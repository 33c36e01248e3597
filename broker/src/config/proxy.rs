//! The proxy for calls to providers.

use std::fmt;

use serde::Deserialize;
use url::Url;

/// `upstream.proxy`: `"none"`, `"environment"`, or the proxy's address.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(try_from = "String")]
pub enum ProxyConfig {
    /// No proxy, whatever the environment says.
    #[default]
    None,
    /// The proxy of `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY`.
    Environment,
    /// The proxy at this address.
    At(ProxyUrl),
}

impl ProxyConfig {
    /// Whether its address contains a password.
    pub(super) fn has_password(&self) -> bool {
        matches!(self, Self::At(url) if url.0.password().is_some())
    }
}

/// A proxy's address, which may contain a password. `Debug` is redacted.
#[derive(Clone)]
pub struct ProxyUrl(Url);

impl ProxyUrl {
    /// The address, for the HTTP client alone.
    pub fn expose(&self) -> &str {
        self.0.as_str()
    }
}

impl fmt::Debug for ProxyUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ProxyUrl([redacted])")
    }
}

/// A text is not a value of `upstream.proxy`.
#[derive(Debug, thiserror::Error)]
#[error("expected none, environment, or a proxy's http or https URL")]
pub struct InvalidProxy;

impl TryFrom<String> for ProxyConfig {
    type Error = InvalidProxy;

    fn try_from(text: String) -> Result<Self, InvalidProxy> {
        match text.as_str() {
            "none" => Ok(Self::None),
            "environment" => Ok(Self::Environment),
            address => match Url::parse(address) {
                Ok(url) if matches!(url.scheme(), "http" | "https") => Ok(Self::At(ProxyUrl(url))),
                _ => Err(InvalidProxy),
            },
        }
    }
}
