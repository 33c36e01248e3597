//! The application: its configuration, and the state that all handlers share.

use std::sync::Arc;

use contract::RedirectUri;

use crate::accounts::Accounts;
use crate::broker::Broker;
use crate::config::{Clock, Config, StartError};
use crate::session_store::SessionStore;

/// The application: its configuration, its sessions and its accounts.
///
/// Several servers may serve one `App`, which is how the demo answers on
/// `127.0.0.1` and on `::1` at once: `localhost` may mean either, and a browser
/// must find its session on both.
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
    /// Makes an application without sessions and accounts.
    ///
    /// # Errors
    ///
    /// [`StartError`] when the configuration would be unsafe, or when no HTTPS
    /// client can be made.
    pub fn new(config: Config, clock: Clock) -> Result<Arc<Self>, StartError> {
        config.refuse_example_secret()?;
        Ok(Arc::new(Self {
            broker: Broker::new(&config)?,
            sessions: SessionStore::with_capacity(config.max_sessions),
            accounts: Accounts::default(),
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
