//! The settings of a deployment.

use std::net::{IpAddr, SocketAddr};

use contract::Origin;
use serde::Deserialize;

use super::ip_header::IpHeader;
use super::limits::LimitsConfig;
use super::log::LogConfig;
use super::operator::OperatorConfig;
use super::store::StoreConfig;
use super::tls::TlsConfig;
use super::upstream::UpstreamConfig;
use crate::cookie_cipher::CookieKey;
use crate::projects::Project;

/// All settings of a deployment.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The address by which browsers and backends reach the broker.
    pub base_url: Origin,
    /// The address to listen on.
    #[serde(default = "default_bind")]
    pub bind: SocketAddr,
    /// The certificate and key for TLS; `None` if a proxy terminates TLS.
    #[serde(default)]
    pub tls: Option<TlsConfig>,
    /// The settings of the operator's endpoint.
    #[serde(default)]
    pub operator: OperatorConfig,
    /// After a signal to stop, the time to finish the requests in flight, in seconds.
    #[serde(default = "default_shutdown_seconds")]
    pub shutdown_seconds: u32,
    /// The keys that encrypt browsers' cookies, newest first. Replicas share them.
    #[serde(default)]
    pub cookie_keys: Vec<CookieKey>,
    /// The store.
    #[serde(default)]
    pub store: StoreConfig,
    /// The header in which the proxy in front sends the client's address. Without it
    /// the peer's address counts, and no header.
    #[serde(default)]
    pub ip_header: Option<IpHeader>,
    /// The rate limits, quotas and time limits.
    #[serde(default)]
    pub limits: LimitsConfig,
    /// The log.
    #[serde(default)]
    pub log: LogConfig,
    /// The providers.
    #[serde(default)]
    pub upstream: UpstreamConfig,
    /// The registered projects.
    #[serde(default, rename = "project")]
    pub projects: Vec<Project>,
    /// The names of the variables with the prefix `BROKER_` that are no keys: Kubernetes
    /// injects them for a service whose name begins with `broker`.
    #[serde(skip)]
    pub ignored_variables: Vec<String>,
}

impl Config {
    /// The defaults of a broker inside another program: no provider, no project, its
    /// rows in memory, on any free port of loopback. Browsers and backends reach it at
    /// `base_url`.
    pub fn in_process(base_url: Origin) -> Self {
        Self {
            base_url,
            bind: SocketAddr::from(([127, 0, 0, 1], 0)),
            tls: None,
            operator: OperatorConfig::default(),
            shutdown_seconds: 2,
            cookie_keys: Vec::new(),
            store: StoreConfig::in_memory(),
            ip_header: None,
            limits: LimitsConfig::in_process(),
            log: LogConfig::default(),
            upstream: UpstreamConfig::default(),
            projects: Vec::new(),
            ignored_variables: Vec::new(),
        }
    }

    /// Whether only this machine can reach the broker.
    pub fn is_local(&self) -> bool {
        self.base_url.is_loopback() && self.bind.ip().is_loopback()
    }
}

fn default_bind() -> SocketAddr {
    SocketAddr::new(IpAddr::from([127, 0, 0, 1]), 8000)
}

/// Longer than the time limit of one call to a provider, shorter than the 30 seconds
/// after which process managers kill a process.
fn default_shutdown_seconds() -> u32 {
    25
}
