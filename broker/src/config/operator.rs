//! What only the broker's operator may see.

use std::net::SocketAddr;

use serde::Deserialize;

use super::ConfigError;

/// The `[operator]` table.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OperatorConfig {
    /// Where the metrics are; absent means nowhere.
    pub bind: Option<SocketAddr>,
    /// Whether that may be an address that others can reach.
    pub exposed: bool,
}

impl OperatorConfig {
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        match self.bind {
            Some(bind) if !bind.ip().is_loopback() && !self.exposed => Err(ConfigError::Exposed(
                "operator.bind is not loopback, and whoever reaches it may read the metrics: \
                 bind to 127.0.0.1, or say operator.exposed = true where a private network or \
                 a firewall stands before it",
            )),
            _ => Ok(()),
        }
    }
}
