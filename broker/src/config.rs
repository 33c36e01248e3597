//! One typed configuration, from a TOML file and the environment.
//!
//! An environment variable is the key's path in upper case after `BROKER_`, two
//! underscores for each dot: `BROKER_UPSTREAM__GOOGLE__CLIENT_SECRET`. Unknown keys are
//! fatal in both, because a misspelt one would silently be a default. The variables
//! that an orchestrator injects with the same prefix are no keys and are ignored.

mod tls;
mod upstream;

mod check;
mod error;
mod error_message;
#[cfg(test)]
mod fuzz;
mod load;

use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU32;

use contract::Origin;
use serde::Deserialize;

use crate::cookie_cipher::CookieKey;
use crate::projects::Project;
use crate::store::StoreUrl;

pub use error::ConfigError;
pub use tls::{CaCertificates, TlsConfig};
pub use upstream::{
    GitHubConfig, GoogleConfig, ProxyConfig, ProxyUrl, UpstreamConfig, UpstreamSecret,
};

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
            store: StoreConfig {
                url: StoreUrl::SqliteMemory,
            },
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

/// The `[operator]` table.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OperatorConfig {
    /// The address of the metrics; absent means off.
    pub bind: Option<SocketAddr>,
    /// Whether other machines may reach that address.
    pub exposed: bool,
}

/// The `[store]` table.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct StoreConfig {
    /// `sqlite:PATH`, relative to the configuration file, `sqlite::memory:`, or
    /// `postgres://…`.
    pub url: StoreUrl,
}

impl Default for StoreConfig {
    fn default() -> Self {
        Self {
            url: StoreUrl::SqliteFile("broker.db".into()),
        }
    }
}

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

impl TryFrom<String> for IpHeader {
    type Error = &'static str;

    /// Underscores are rejected: some proxies treat a client's `X_Real_IP` as their own
    /// `X-Real-IP`. Headers that contain lists are rejected, too.
    fn try_from(name: String) -> Result<Self, Self::Error> {
        let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '-';
        let is_list = ["x-forwarded-for", "forwarded"]
            .iter()
            .any(|list| name.eq_ignore_ascii_case(list));
        if name.is_empty() || !name.chars().all(is_of_name) || is_list {
            return Err(
                "expected the name of one header of letters, digits and hyphens that your \
                        proxy sets to the client's address alone, like X-Real-IP",
            );
        }
        Ok(Self(name))
    }
}

/// The `[limits]` table.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LimitsConfig {
    /// The number of wrong secrets for one `client_id` from one address within a minute
    /// that get a normal refusal; the next get 429. The right secret is never limited.
    pub wrong_secrets_per_minute: NonZeroU32,
    /// The number of browsers that may come back from a provider within a minute from
    /// one address, if addresses are known.
    pub callbacks_per_minute: NonZeroU32,
    /// The number of visits to one project's authorization URLs within a minute that may
    /// begin outside its pages before the log warns. None is refused.
    pub visits_from_elsewhere_per_minute: NonZeroU32,
    /// The number of concurrent calls to one provider. The next waits as long as a call
    /// may take.
    pub upstream_calls: NonZeroU32,
    /// The number of login sessions of one project that have not ended.
    pub live_sessions: NonZeroU32,
    /// The delay of the store's steps, in milliseconds, above which no login begins. For a
    /// task that waits for the processor it is a tenth.
    pub overload_delay_ms: NonZeroU32,
    /// The time in which a request's body must arrive, in milliseconds.
    pub body_timeout_ms: NonZeroU32,
}

impl Default for LimitsConfig {
    fn default() -> Self {
        Self {
            wrong_secrets_per_minute: non_zero(19),
            callbacks_per_minute: non_zero(600),
            visits_from_elsewhere_per_minute: non_zero(60),
            upstream_calls: non_zero(256),
            live_sessions: non_zero(1_000_000),
            overload_delay_ms: non_zero(100),
            body_timeout_ms: non_zero(10_000),
        }
    }
}

impl LimitsConfig {
    /// The limits of a broker inside another program, which may keep its processor busy for
    /// longer than a broker's users would wait.
    fn in_process() -> Self {
        Self {
            overload_delay_ms: non_zero(5_000),
            ..Self::default()
        }
    }
}

fn non_zero(number: u32) -> NonZeroU32 {
    NonZeroU32::new(number).expect("a constant of ours is not zero")
}

/// The `[log]` table.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LogConfig {
    /// The format of a line.
    pub format: LogFormat,
}

/// The format of a log line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// Text for human readers.
    #[default]
    Readable,
    /// One JSON object a line.
    Json,
}
