//! One typed configuration, from a TOML file and the environment.
//!
//! An environment variable is the key's path in upper case after `BROKER_`, two
//! underscores for each dot: `BROKER_UPSTREAM__GOOGLE__CLIENT_SECRET`. Unknown keys are
//! fatal in both, because a misspelt one would silently be a default. The variables
//! that an orchestrator injects with the same prefix are no keys and are ignored.

mod ca_certificates;
mod check;
mod environment;
mod error;
mod error_message;
#[cfg(test)]
mod fuzz;
mod ip_header;
mod keys;
mod limits;
mod load;
mod log;
mod operator;
mod proxy;
mod security_check;
mod settings;
mod store;
mod tls;
mod upstream;

pub use ca_certificates::CaCertificates;
pub use error::ConfigError;
pub use ip_header::{InvalidIpHeader, IpHeader};
pub use limits::LimitsConfig;
pub use log::{LogConfig, LogFormat};
pub use operator::OperatorConfig;
pub use proxy::{ProxyConfig, ProxyUrl};
pub use settings::Config;
pub use store::StoreConfig;
pub use tls::TlsConfig;
pub use upstream::{GitHubConfig, GoogleConfig, UpstreamConfig, UpstreamSecret};
