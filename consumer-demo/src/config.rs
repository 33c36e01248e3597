//! The application's configuration, with the values that it refuses, and its clock.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use contract::{ClientId, ClientSecret, Origin, RedirectUri};

/// Everything that differs between two deployments.
///
/// [`Origin`] admits HTTPS, and plain HTTP only to this machine: an address over
/// which a secret would travel in the clear cannot be configured.
#[derive(Debug, Clone)]
pub struct Config {
    /// The broker's base address.
    pub signin_base_url: Origin,
    /// This project's identifier at the broker.
    pub client_id: ClientId,
    /// Its secret. Server-side, always: it goes into request bodies and nowhere else.
    pub client_secret: ClientSecret,
    /// The origin at which users reach this application. The callbacks registered
    /// with the broker are this address followed by `/callback` and
    /// `/legacy/callback`.
    pub consumer_base_url: Origin,
    /// The origin to which browsers are redirected, which every `authorization_url` must
    /// have: that of the base address, unless browsers reach the broker at another.
    pub authorization_origin: Origin,
    /// Certificate authorities in PEM that are trusted for the broker besides the
    /// system's. For a private authority there is no other way: a client that skips
    /// the check of certificates gives the secrets to any server on the way.
    pub broker_ca: Option<String>,
    /// The time limit of one call to the broker, from connecting to the last byte.
    pub broker_timeout: Duration,
    /// The time limit of the two calls on which nothing depends: the providers'
    /// status, and revoking a token at sign-out.
    pub best_effort_timeout: Duration,
    /// The pause before a pending result is read again.
    pub pending_wait: Duration,
    /// The maximum of anonymous sessions, and of signed-in ones.
    pub max_sessions: usize,
    /// The file of the sessions and accounts, which several processes may share. Without it
    /// they are in memory, and gone when the program ends.
    pub sessions_db: Option<PathBuf>,
}

impl Config {
    /// A configuration with the usual limits.
    pub fn new(
        signin_base_url: Origin,
        client_id: ClientId,
        client_secret: ClientSecret,
        consumer_base_url: Origin,
    ) -> Self {
        Self {
            authorization_origin: signin_base_url.clone(),
            signin_base_url,
            client_id,
            client_secret,
            consumer_base_url,
            broker_ca: None,
            broker_timeout: Duration::from_secs(10),
            best_effort_timeout: Duration::from_secs(2),
            pending_wait: Duration::from_millis(300),
            max_sessions: 10_000,
            sessions_db: None,
        }
    }

    /// The callback at `path` of this application.
    pub(crate) fn callback(&self, path: &str) -> RedirectUri {
        format!("{}{path}", self.consumer_base_url)
            .parse()
            .expect("an origin and a plain path make a RedirectUri")
    }

    /// Refuses an example secret unless both base addresses are on this machine.
    pub(crate) fn refuse_example_secret(&self) -> Result<(), StartError> {
        if self.consumer_base_url.is_loopback() && self.signin_base_url.is_loopback() {
            return Ok(());
        }
        refuse_if_example(&self.client_secret)
    }
}

/// Refuses a secret that was plainly typed by hand or copied from a page.
pub(crate) fn refuse_if_example(secret: &ClientSecret) -> Result<(), StartError> {
    // These words don't turn up in 256 random bits by accident; in a quick
    // start, a tutorial or a compose file they always do.
    const WORDS: [&str; 7] = [
        "secret",
        "example",
        "password",
        "changeme",
        "change-me",
        "insecure",
        "development",
    ];
    let text = secret.expose().to_lowercase();
    if text.len() < 22 || WORDS.iter().any(|word| text.contains(word)) {
        return Err(StartError::ExampleSecret);
    }
    Ok(())
}

/// Why the application does not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// A development secret, away from the developer's machine.
    #[error(
        "the client secret looks like an example (shorter than 128 bits, or made of words): \
         away from loopback, use the one that the broker issued to this project"
    )]
    ExampleSecret,
    /// The authorities of the broker are no certificates.
    #[error("the file of --broker-ca holds no certificates in PEM, or a damaged one")]
    BrokerCa,
    /// The sessions' file cannot be opened.
    #[error("the file of --sessions-db cannot be used: {0}")]
    SessionsDb(#[source] rusqlite::Error),
    /// No HTTPS client: usually no certificate authorities on this machine.
    #[error("cannot make an HTTPS client")]
    HttpClient(#[source] reqwest::Error),
}

/// A clock in Unix milliseconds: everything that expires reads this clock and no other, so that
/// a test can move it. Clones share the same time.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> i64 + Send + Sync>);

impl Clock {
    /// A clock that reads its time from `now_ms`.
    pub fn new(now_ms: impl Fn() -> i64 + Send + Sync + 'static) -> Self {
        Self(Arc::new(now_ms))
    }

    /// The machine's own clock.
    pub fn system() -> Self {
        Self::new(system_now_ms)
    }

    /// The time, in Unix milliseconds.
    pub fn now_ms(&self) -> i64 {
        (self.0)()
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the one place that reads the machine's clock"
)]
fn system_now_ms() -> i64 {
    let since_1970 = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    i64::try_from(since_1970.as_millis()).unwrap_or(i64::MAX)
}
