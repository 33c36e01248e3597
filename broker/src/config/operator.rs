//! The settings of the operator's endpoint, which serves the metrics.

use std::net::SocketAddr;

use serde::Deserialize;

use super::error::ConfigError;

/// The `[operator]` table.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OperatorConfig {
    /// The address of the metrics; absent means off.
    pub bind: Option<SocketAddr>,
    /// Whether other machines may reach that address.
    pub exposed: bool,
}

impl OperatorConfig {
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        match self.bind {
            Some(bind) if !bind.ip().is_loopback() && !self.exposed => Err(ConfigError::Exposed(
                "operator.bind is not loopback, and any client that reaches it may read the \
                 metrics: bind to 127.0.0.1, or set operator.exposed = true where a private \
                 network or a firewall protects it",
            )),
            _ => Ok(()),
        }
    }
}
