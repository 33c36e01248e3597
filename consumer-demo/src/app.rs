//! The application: its configuration, and the state that all handlers share.

use std::sync::Arc;

use contract::RedirectUri;

use crate::accounts::Accounts;
use crate::broker::Broker;
use crate::config::{Clock, Config, StartError};
use crate::database::Database;
use crate::session_store::SessionStore;

/// The application: its configuration, its sessions and its accounts.
///
/// Several servers may serve one `App`, which is how the demo answers on
/// `127.0.0.1` and on `::1` at once: `localhost` may mean either, and a browser
/// must find its session on both. Several processes may serve the sessions of one file
/// ([`Config::sessions_db`]), which is how an application runs twice behind a load balancer.
pub struct App {
    pub(crate) config: Config,
    pub(crate) clock: Clock,
    pub(crate) broker: Broker,
    pub(crate) sessions: SessionStore,
    pub(crate) accounts: Accounts,
    /// The clean flow's `redirect_uri`, registered with the broker.
    pub(crate) clean_callback: RedirectUri,
    /// The legacy flow's `redirect_uri`, registered with the broker.
    pub(crate) legacy_callback: RedirectUri,
}

impl App {
    /// Makes an application with the sessions and accounts of its file, or with none.
    ///
    /// # Errors
    ///
    /// [`StartError`] when the configuration would be unsafe, when no HTTPS client can be
    /// made, or when the sessions' file cannot be opened.
    pub fn new(config: Config, clock: Clock) -> Result<Arc<Self>, StartError> {
        config.refuse_example_secret()?;
        let database = Database::open(config.sessions_db.as_deref());
        let database = Arc::new(database.map_err(StartError::SessionsDb)?);
        Ok(Arc::new(Self {
            broker: Broker::new(&config)?,
            sessions: SessionStore::new(Arc::clone(&database), config.max_sessions),
            accounts: Accounts::new(database),
            clean_callback: config.callback("/callback"),
            legacy_callback: config.callback("/legacy/callback"),
            clock,
            config,
        }))
    }

    /// Forgets every session and every account.
    pub fn reset(&self) {
        self.sessions.clear();
        self.accounts.clear();
    }
}
