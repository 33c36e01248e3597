//! One typed configuration, from a TOML file and the environment.
//!
//! An environment variable is the key's path in upper case behind `BROKER_`, two
//! underscores for each dot: `BROKER_UPSTREAM__GOOGLE__CLIENT_SECRET`. Unknown
//! keys are fatal in both, because a misspelt one would be a silent default; what an
//! orchestrator injects behind the same prefix is none.

mod complaint;
mod environment;
mod exposure;
#[cfg(test)]
mod hostile;
mod ip_header;
mod keys;
mod limits;
mod operator;
mod proxy;
mod tls;

use std::collections::HashSet;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use contract::Origin;
use figment::Figment;
use figment::providers::{Format as _, Toml};
use serde::{Deserialize, Deserializer};

use crate::cookie_cipher::CookieKey;
use crate::projects::Project;
use crate::store::StoreUrl;
use complaint::complaint;
pub use ip_header::{IpHeader, NoIpHeader};
pub use limits::LimitsConfig;
pub use operator::OperatorConfig;
pub use proxy::{ProxyConfig, ProxyUrl};
pub use tls::TlsConfig;

/// Everything that a deployment decides.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The address by which browsers and backends reach the broker.
    pub base_url: Origin,
    /// The address to listen on.
    #[serde(default = "default_bind")]
    pub bind: SocketAddr,
    /// With what it encrypts by itself; absent means that a proxy does.
    #[serde(default)]
    pub tls: Option<TlsConfig>,
    /// What only its operator may see.
    #[serde(default)]
    pub operator: OperatorConfig,
    /// How long it goes on, once told to stop, with what has begun, in seconds.
    #[serde(default = "default_shutdown_seconds")]
    pub shutdown_seconds: u32,
    /// What seals the browsers' upstream logins, newest first. Replicas share them.
    #[serde(default)]
    pub cookie_keys: Vec<CookieKey>,
    /// Where the rows are.
    #[serde(default)]
    pub store: StoreConfig,
    /// The header in which the proxy in front says where a request comes from.
    /// Without it the peer's address counts, and no header.
    #[serde(default)]
    pub ip_header: Option<IpHeader>,
    /// How much is let in.
    #[serde(default)]
    pub limits: LimitsConfig,
    /// How the log is written.
    #[serde(default)]
    pub log: LogConfig,
    /// The providers.
    #[serde(default)]
    pub upstream: UpstreamConfig,
    /// Who may call.
    #[serde(default, rename = "project")]
    pub projects: Vec<Project>,
    /// The names of the variables behind `BROKER_` that are no keys: Kubernetes
    /// injects them beside a service whose name begins with `broker`.
    #[serde(skip)]
    pub ignored_variables: Vec<String>,
}

/// The `[store]` table.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct StoreConfig {
    /// `sqlite:PATH`, relative to the configuration file, `sqlite::memory:`, or
    /// `postgres://…`.
    #[serde(deserialize_with = "store_url")]
    pub url: StoreUrl,
}

/// The `[log]` table.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LogConfig {
    /// For people or for machines.
    pub format: LogFormat,
}

/// How a log line looks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people.
    #[default]
    Readable,
    /// One JSON object a line.
    Json,
}

/// The `[upstream]` table.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct UpstreamConfig {
    /// How long one call to a provider may take in all, in milliseconds.
    pub timeout_ms: u64,
    /// Which way calls to providers take.
    pub proxy: ProxyConfig,
    /// `[upstream.google]`; absent means not configured.
    pub google: Option<GoogleConfig>,
    /// `[upstream.github]`; absent means not configured.
    pub github: Option<GitHubConfig>,
}

impl UpstreamConfig {
    /// The time limit of one call.
    pub fn timeout(&self) -> Duration {
        Duration::from_millis(self.timeout_ms)
    }

    /// A subject is made of the provider's name and the person's id there, and
    /// every other server counts its people anew.
    fn check(&self) -> Result<(), ConfigError> {
        let is = |url: &Origin, own: Origin| *url == own || url.is_loopback();
        if let Some(google) = &self.google
            && !is(&google.issuer, google_issuer())
        {
            return Err(ConfigError::Foreign(
                "upstream.google.issuer is neither https://accounts.google.com nor loopback: \
                 the people of another issuer would be taken for Google's",
            ));
        }
        if let Some(github) = &self.github
            && !(is(&github.web_url, github_web()) && is(&github.api_url, github_api()))
        {
            return Err(ConfigError::Foreign(
                "upstream.github.web_url and .api_url are neither https://github.com and \
                 https://api.github.com nor loopback: a GitHub Enterprise Server numbers its \
                 people from 1 as github.com does, and two persons would be one",
            ));
        }
        Ok(())
    }
}

/// The `[upstream.google]` table.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GoogleConfig {
    /// What Google's console calls the client ID.
    pub client_id: String,
    /// What Google's console calls the client secret.
    pub client_secret: UpstreamSecret,
    /// Switched on.
    #[serde(default = "yes")]
    pub enabled: bool,
    /// Where discovery is, and what ID tokens must say.
    #[serde(default = "google_issuer")]
    pub issuer: Origin,
}

/// The `[upstream.github]` table.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GitHubConfig {
    /// What GitHub's settings call the client ID.
    pub client_id: String,
    /// What GitHub's settings call a client secret.
    pub client_secret: UpstreamSecret,
    /// Switched on.
    #[serde(default = "yes")]
    pub enabled: bool,
    /// Where people sign in and codes are exchanged.
    #[serde(default = "github_web")]
    pub web_url: Origin,
    /// Where the REST API is.
    #[serde(default = "github_api")]
    pub api_url: Origin,
}

/// Our secret at a provider. `Debug` is redacted.
#[derive(Clone, Deserialize)]
#[serde(transparent)]
pub struct UpstreamSecret(String);

impl UpstreamSecret {
    /// Takes the secret from whoever configures a broker in code.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text, for the provider alone.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for UpstreamSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("UpstreamSecret([redacted])")
    }
}

/// Why a configuration was refused.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read the configuration file {path}: {source}")]
    Unreadable {
        /// Which file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// The file or the environment is not a configuration.
    #[error("{0}")]
    Invalid(String),
    /// Something that only this machine may see would be seen by others.
    #[error("{0}")]
    Exposed(&'static str),
    /// Others on this machine may read a file of secrets.
    #[error(
        "{path} holds a secret ({secret}), but its mode {mode:03o} lets others on this machine \
         read it: chmod 600 {path}"
    )]
    Readable {
        /// Which file.
        path: String,
        /// Which of its secrets.
        secret: &'static str,
        /// Its permissions.
        mode: u32,
    },
    /// What it would encrypt with cannot be used.
    #[error("{path}: {why}")]
    Tls {
        /// Which file.
        path: String,
        /// What is wrong with it.
        why: String,
    },
    /// Two keys cannot both be meant.
    #[error("{0}")]
    Contradictory(&'static str),
    /// A provider would be another than the one whose name it has.
    #[error("{0}")]
    Foreign(&'static str),
    /// Two projects are called the same.
    #[error("two projects have the same client_id: each needs its own")]
    Ambiguous,
    /// Something is missing that several brokers must have in common.
    #[error("{0}")]
    Incomplete(&'static str),
}

impl Config {
    /// What a broker inside another program begins with: no provider, no project,
    /// its rows in memory, on any free port of this machine. Browsers and backends
    /// reach it at `base_url`.
    pub fn within_a_program(base_url: Origin) -> Self {
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
            limits: LimitsConfig::default(),
            log: LogConfig::default(),
            upstream: UpstreamConfig::default(),
            projects: Vec::new(),
            ignored_variables: Vec::new(),
        }
    }

    /// Reads the file at `path`, then the environment over it.
    ///
    /// # Errors
    ///
    /// When the file is unreadable, a key is unknown, missing or malformed, or
    /// development credentials would face the network; and when a broker that
    /// others can reach has its secrets in a file that others can read.
    pub fn load(path: &Path) -> Result<Self, ConfigError> {
        // figment takes a file that is not there for an empty one.
        std::fs::File::open(path).map_err(|source| ConfigError::Unreadable {
            path: path.to_owned(),
            source,
        })?;
        let file = Figment::from(Toml::file_exact(path));
        let environment = environment::read()?;
        let mut config = Self::parsed(&file.clone().merge(environment.keys))?;
        config.ignored_variables = environment.ignored;
        let folder = path.parent().unwrap_or(Path::new(""));
        config.store.url = config.store.url.relative_to(folder);
        config.tls = config.tls.map(|tls| tls.beside(folder));
        config.check()?;
        if !config.is_local() {
            exposure::check_file(path, &file)?;
        }
        Ok(config)
    }

    fn parsed(given: &Figment) -> Result<Self, ConfigError> {
        let config = given.extract();
        config.map_err(|error| ConfigError::Invalid(complaint(&error)))
    }

    /// Checks what no single key can say.
    ///
    /// # Errors
    ///
    /// When development credentials or a missing cookie key would face the
    /// network, a provider is not the one whose name it has, or brokers that share a store would share no cookie key.
    pub fn check(&self) -> Result<(), ConfigError> {
        if !self.is_local() {
            self.check_exposure()?;
        }
        self.operator.check()?;
        self.check_tls()?;
        self.upstream.check()?;
        if matches!(self.store.url, StoreUrl::Postgres(_)) && self.cookie_keys.is_empty() {
            return Err(ConfigError::Incomplete(
                "cookie_keys is empty, but the store is PostgreSQL, which brokers share: \
                 give all of them the same key, 32 random bytes in base64url, for instance from \
                 `head -c 32 /dev/urandom | basenc --base64url | tr -d =`",
            ));
        }
        let mut seen = HashSet::new();
        if self
            .projects
            .iter()
            .all(|project| seen.insert(&project.client_id))
        {
            Ok(())
        } else {
            Err(ConfigError::Ambiguous)
        }
    }

    /// Whether only this machine can reach the broker.
    pub fn is_local(&self) -> bool {
        self.base_url.is_loopback() && self.bind.ip().is_loopback()
    }
}

impl Default for StoreConfig {
    fn default() -> Self {
        Self {
            url: StoreUrl::SqliteFile("broker.db".into()),
        }
    }
}

impl Default for UpstreamConfig {
    fn default() -> Self {
        Self {
            timeout_ms: 10_000,
            proxy: ProxyConfig::None,
            google: None,
            github: None,
        }
    }
}

fn default_bind() -> SocketAddr {
    SocketAddr::new(IpAddr::from([127, 0, 0, 1]), 8000)
}

/// Longer than a provider may take for one call, shorter than the 30 seconds that
/// those who run processes allow for them to end.
fn default_shutdown_seconds() -> u32 {
    25
}

fn yes() -> bool {
    true
}

fn google_issuer() -> Origin {
    known_origin("https://accounts.google.com")
}

fn github_web() -> Origin {
    known_origin("https://github.com")
}

fn github_api() -> Origin {
    known_origin("https://api.github.com")
}

fn known_origin(text: &str) -> Origin {
    text.parse().expect("a constant of ours is well formed")
}

fn store_url<'de, D: Deserializer<'de>>(deserializer: D) -> Result<StoreUrl, D::Error> {
    String::deserialize(deserializer)?
        .parse()
        .map_err(serde::de::Error::custom)
}
