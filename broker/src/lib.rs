//! The Federated Sign-In broker: the whole specification, against Google and
//! GitHub or an imitation of them.
//!
//! # Bird's-eye view
//!
//! A request comes in through [`http`], where guards parse it into the types of
//! the `contract` crate. A handler asks the [`store`] for one atomic step, in the
//! words of [`model`], sends browsers to a provider and hears from it through
//! [`upstream`], and answers. What happened is written to the [`audit`].
//!
//! | module | what lives there |
//! |---|---|
//! | [`config`] | one typed configuration |
//! | [`clock`], [`random`] | the one source of time, and of chance |
//! | [`projects`] | who may call |
//! | [`relay`] | which visitors are asked whether they started the sign-in |
//! | [`model`] | the two state diagrams; pure |
//! | [`store`] | what must be single-use |
//! | [`upstream`] | Google's and GitHub's dialects |
//! | [`cookie_cipher`] | what a browser keeps for us |
//! | `limits` | how much of it is let in |
//! | [`audit`] | what happened and why |
//! | [`metrics`] | how often, and how long it took |
//! | [`http`] | routes, guards, statuses, pages |
//!
//! # Invariants
//!
//! 1. `model` never sees Rocket, serde, sockets or the clock.
//! 2. Only `contract` is serializable to the wire.
//! 3. Only `http` knows status codes, headers and bodies.
//! 4. Only `store` decides who came first; a step is committed before its answer
//!    leaves.
//! 5. This crate knows neither the imitation of the providers nor any test; it
//!    has no control endpoint. What a test needs is handed to [`Broker::assemble`].
//! 6. Wall clock, randomness and environment are read in one place each.
//! 7. A secret leaves its type in three places: hashing, the answer that issues
//!    it, the call to a provider.
//! 8. Every refusal names a [`Rule`](contract::Rule).

pub mod audit;
pub mod clock;
pub mod config;
pub mod cookie_cipher;
pub mod http;
pub mod metrics;
pub mod model;
pub mod panics;
pub mod projects;
pub mod random;
pub mod relay;
pub mod store;
pub mod upstream;

mod limits;
mod printable;
mod query;

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use contract::Origin;
use rocket::{Build, Rocket};

use audit::AuditLog;
use clock::Clock;
use config::{Config, ConfigError, IpHeader, TlsConfig};
use cookie_cipher::{CookieCipher, CookieKey};
use limits::Limits;
use metrics::Metrics;
use model::UnixMs;
use projects::Projects;
use store::fail_points::FailPoints;
use store::timed::Timed;
use store::{Store, StoreError, StoreUrl};
use upstream::Upstreams;

/// A broker, ready to serve: everything that its handlers share.
pub struct Broker {
    base_url: Origin,
    bind: std::net::SocketAddr,
    tls: Option<TlsConfig>,
    shutdown_seconds: u32,
    clock: Clock,
    ip_header: Option<IpHeader>,
    audit: AuditLog,
    limits: Limits,
    fail_points: FailPoints,
    projects: Projects,
    cookie_cipher: CookieCipher,
    store: Arc<dyn Store>,
    sweep_every: Duration,
    upstreams: Upstreams,
}

/// The interval at which rows that no rule can see any more are deleted.
const SWEEP_EVERY: Duration = Duration::from_secs(15);

/// What a broker is handed from outside, and shares with whoever hands it in. The
/// default is production's.
#[derive(Clone, Default)]
pub struct Dependencies {
    /// The time it lives by.
    pub clock: Clock,
    /// The projects that may call; those of the configuration join them.
    pub projects: Projects,
    /// What it writes.
    pub audit: AuditLog,
    /// What it counts and measures, if anybody asks.
    pub metrics: Option<Metrics>,
    /// Who watches its steps.
    pub fail_points: FailPoints,
    /// Where it keeps what happens once; without one, where its configuration says.
    pub store: Option<Arc<dyn Store>>,
    /// The interval at which it deletes expired rows; 15 seconds if there is none.
    pub sweep_every: Option<Duration>,
}

/// Why a broker could not be assembled.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The configuration contradicts itself.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The store cannot be opened.
    #[error("cannot open {url}: {source}")]
    Store {
        /// The store's address.
        url: StoreUrl,
        /// What it says.
        source: StoreError,
    },
    /// The key that seals upstream logins cannot be kept.
    #[error("cannot keep the cookie key in {path}: {source}")]
    CookieKey {
        /// Which file.
        path: String,
        /// What the system says.
        source: std::io::Error,
    },
    /// The HTTP client for the providers cannot be made.
    #[error("cannot make the HTTP client for the providers: {0}")]
    Client(#[from] reqwest::Error),
}

impl Broker {
    /// Assembles a broker from a configuration and what is handed in.
    ///
    /// # Errors
    ///
    /// When the store or the cookie key cannot be opened, or the configuration
    /// would expose what only this machine may see.
    pub fn assemble(config: Config, dependencies: Dependencies) -> Result<Self, StartError> {
        let Dependencies {
            clock,
            projects,
            mut audit,
            metrics,
            fail_points,
            store,
            sweep_every,
        } = dependencies;
        config.check()?;
        let mut store = match store {
            Some(store) => store,
            None => open(&config.store.url, &fail_points)?,
        };
        if let Some(metrics) = metrics {
            let heard = metrics.clone();
            audit = audit.subscribed(Arc::new(move |event| heard.hear(event)));
            store = Arc::new(Timed { store, metrics });
        }
        let cookie_cipher = cookie_cipher(&config)?;
        let upstreams = Upstreams::new(
            &config.upstream,
            config.limits.upstream_calls,
            config.base_url.as_str(),
            &clock,
        )?;
        let limits = Limits::new(&config.limits, &clock);
        config
            .projects
            .into_iter()
            .for_each(|project| projects.register(project));
        Ok(Self {
            base_url: config.base_url,
            bind: config.bind,
            tls: config.tls,
            shutdown_seconds: config.shutdown_seconds,
            clock,
            ip_header: config.ip_header,
            audit,
            limits,
            fail_points,
            projects,
            cookie_cipher,
            store,
            sweep_every: sweep_every.unwrap_or(SWEEP_EVERY),
            upstreams,
        })
    }

    /// Whether the store could take a step now, and its clock agrees with ours. A
    /// broker serves without it, and answers 503 until it can.
    ///
    /// # Errors
    ///
    /// What the store says.
    pub async fn ready(&self) -> Result<(), StoreError> {
        self.store.ready().await?;
        store::skew::check(self.store.as_ref(), &self.clock).await
    }

    /// The web server, not yet listening. It installs no signal handler and reads
    /// no configuration of its own.
    pub fn rocket(self) -> Rocket<Build> {
        http::rocket(self)
    }

    fn now(&self) -> UnixMs {
        self.clock.now()
    }
}

fn open(url: &StoreUrl, fail_points: &FailPoints) -> Result<Arc<dyn Store>, StartError> {
    store::open(url, fail_points.clone()).map_err(|source| StartError::Store {
        url: url.clone(),
        source,
    })
}

fn cookie_cipher(config: &Config) -> Result<CookieCipher, StartError> {
    if !config.cookie_keys.is_empty() {
        return Ok(CookieCipher::new(config.cookie_keys.clone()));
    }
    let fresh = random::bytes32();
    let key = match &config.store.url {
        StoreUrl::SqliteMemory | StoreUrl::Postgres(_) => CookieKey::from_random(&fresh),
        StoreUrl::SqliteFile(database) => {
            let path = cookie_key_path(database);
            CookieKey::kept_at(Path::new(&path), fresh).map_err(|source| StartError::CookieKey {
                path: path.to_string_lossy().into_owned(),
                source,
            })?
        }
    };
    Ok(CookieCipher::new(vec![key]))
}

/// `broker.db` keeps its key in `broker.db.cookie-key`.
fn cookie_key_path(database: &Path) -> OsString {
    let mut path = database.as_os_str().to_owned();
    path.push(".cookie-key");
    path
}
