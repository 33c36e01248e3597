//! One typed configuration, from a TOML file and the environment.
//!
//! An environment variable is the key's path in upper case after `BROKER_`, two
//! underscores for each dot: `BROKER_UPSTREAM__GOOGLE__CLIENT_SECRET`. Unknown keys are
//! fatal in both, because a misspelt one would silently be a default. The variables
//! that an orchestrator injects with the same prefix are no keys and are ignored.

mod settings;
mod tls;
mod upstream;

mod check;
mod error;
mod error_message;
#[cfg(test)]
mod fuzz;
mod load;

pub use error::ConfigError;
pub use settings::{
    Config, IpHeader, LimitsConfig, LogConfig, LogFormat, OperatorConfig, StoreConfig,
};
pub use tls::{CaCertificates, TlsConfig};
pub use upstream::{
    GitHubConfig, GoogleConfig, ProxyConfig, ProxyUrl, UpstreamConfig, UpstreamSecret,
};
