//! Assembles a broker from its configuration and its injected dependencies.

pub(crate) mod background;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use crate::audit::AuditLog;
use crate::clock::Clock;
use crate::config::{Config, ConfigError, IpHeader, TlsConfig};
use crate::cookie_cipher::{CookieCipher, CookieKey};
use crate::limits::Limits;
use crate::metrics::Metrics;
use crate::projects::Projects;
use crate::random;
use crate::sign_in::BrokerCore;
use crate::store::fail_points::FailPoints;
use crate::store::{self, Instruments, Store, StoreError, StoreUrl};
use crate::upstream::{ClientError, Upstreams};

/// A broker, ready to serve: everything that its handlers share.
pub struct Broker {
    pub(crate) core: BrokerCore,
    pub(crate) bind: SocketAddr,
    pub(crate) tls: Option<TlsConfig>,
    pub(crate) shutdown_seconds: u32,
    pub(crate) ip_header: Option<IpHeader>,
    pub(crate) audit: AuditLog,
    pub(crate) metrics: Option<Metrics>,
    pub(crate) fail_points: FailPoints,
    pub(crate) cookie_cipher: CookieCipher,
    pub(crate) sweep_every: Duration,
}

/// The default interval between two sweeps of expired rows.
const SWEEP_EVERY: Duration = Duration::from_secs(15);

/// The dependencies that a caller injects into a broker, and may go on sharing with it.
/// The default is production's.
#[derive(Clone, Default)]
pub struct Dependencies {
    /// The clock that judges every lifetime.
    pub clock: Clock,
    /// The registered projects, which those of the configuration join.
    pub projects: Projects,
    /// The audit log, with its subscribers.
    pub audit: AuditLog,
    /// The metrics to record, if an operator reads them.
    pub metrics: Option<Metrics>,
    /// The fail points of the store and of the answers.
    pub fail_points: FailPoints,
    /// The store; without one, the broker opens the one its configuration names.
    pub store: Option<Store>,
    /// The interval between two sweeps of expired rows; 15 seconds by default.
    pub sweep_every: Option<Duration>,
}

/// The reason why a broker could not be assembled.
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
        /// The store's own error.
        source: StoreError,
    },
    /// The key that encrypts the cookies of upstream logins cannot be kept.
    #[error("cannot keep the cookie key in {path}: {source}")]
    CookieKey {
        /// The path of the key's file.
        path: String,
        /// The system's error.
        source: std::io::Error,
    },
    /// The HTTP client for the providers cannot be made.
    #[error(transparent)]
    Client(#[from] ClientError),
}

impl Broker {
    /// Assembles a broker from a configuration and injected dependencies.
    ///
    /// # Errors
    ///
    /// If the store or the cookie key cannot be opened, or the configuration
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
        let store = match store {
            Some(store) => store,
            None => open(&config.store.url, fail_points.clone())?,
        };
        if let Some(counted) = metrics.clone() {
            audit = audit.subscribed(Arc::new(move |event| counted.observe(event)));
        }
        let cookie_cipher = cookie_cipher(&config)?;
        let upstreams = Upstreams::new(
            &config.upstream,
            config.limits.upstream_calls,
            config.base_url.as_str(),
            &clock,
        )?;
        let limits = Limits::new(&config.limits, &clock);
        let store = store.measured(Instruments {
            queue: limits.overload.steps.clone(),
            metrics: metrics.clone(),
        });
        config
            .projects
            .into_iter()
            .for_each(|project| projects.register(project));
        Ok(Self {
            core: BrokerCore {
                base_url: config.base_url,
                clock,
                projects,
                limits,
                store,
                upstreams,
            },
            bind: config.bind,
            tls: config.tls,
            shutdown_seconds: config.shutdown_seconds,
            ip_header: config.ip_header,
            audit,
            metrics,
            fail_points,
            cookie_cipher,
            sweep_every: sweep_every.unwrap_or(SWEEP_EVERY),
        })
    }

    /// Checks that the store could take a step now, and that its clock agrees with
    /// ours. A broker serves without its store too, and answers 503 until it is back.
    ///
    /// # Errors
    ///
    /// The store's own.
    pub async fn ready(&self) -> Result<(), StoreError> {
        let BrokerCore { store, clock, .. } = &self.core;
        store.ready().await?;
        store.check_skew(clock).await
    }
}

fn open(url: &StoreUrl, fail_points: FailPoints) -> Result<Store, StartError> {
    store::open(url, fail_points).map_err(|source| StartError::Store {
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
            // `broker.db` keeps its key in `broker.db.cookie-key`.
            let path = database.with_added_extension("cookie-key");
            CookieKey::kept_at(&path, fresh).map_err(|source| StartError::CookieKey {
                path: path.display().to_string(),
                source,
            })?
        }
    };
    Ok(CookieCipher::new(vec![key]))
}
