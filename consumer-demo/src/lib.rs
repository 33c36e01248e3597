//! The reference consumer of the Federated Sign-In Service: a small web
//! application that signs people in through a broker, by both of its flows.
//!
//! It is written to be read from top to bottom and copied from. The protocol is
//! in four files; the rest is the web application around it.
//!
//! # Layout, in reading order
//!
//! | file | what it answers |
//! |---|---|
//! | `clean.rs` | the recommended flow: start, and read the result once |
//! | `legacy.rs` | the browser authorization flow: state, PKCE, code, token |
//! | `broker.rs` | how the broker is called, and what each failure permits |
//! | `session.rs` | what we remember of one browser; `session/memory.rs` of all |
//! | `browser.rs` | the cookies that tie a browser to its session and its logins |
//! | `cookies.rs` | which cookies a request really carries |
//! | `accounts.rs` | who our users are |
//! | `site.rs` | home, profile, sign-out |
//! | `guards.rs` | what a request must be before a handler sees it |
//! | `pages.rs`, `templates/` | what people see |
//! | `server.rs` | Rocket: settings, headers, methods, request log |
//! | `config.rs`, `clock.rs`, `chance.rs` | the outside world, one door each |
//!
//! # Invariants
//!
//! 1. A secret (session key, state, verifier, token, client secret) stays on the
//!    server. The browser holds random cookies only: a name for its session, and
//!    one for each clean login that it started. (Two things that travel through
//!    it by design: `state` and the handoff code, which are worthless without
//!    that session.)
//! 2. No callback calls the broker for a browser without a live session, and about
//!    no clean login but those whose own cookie the browser brought.
//! 3. What may be used once is *taken* out of the session before it is used. No
//!    two requests can hold the same one.
//! 4. No one-time call is ever repeated after a failure. The person starts again.
//! 5. Nothing runs in the background: the broker is asked because a person came.
//! 6. Nothing behind a GET is harmed by HEAD, a prefetch or a forged form.
//! 7. The wall clock, randomness and the environment are read in one place each.

mod clean;
mod legacy;

mod broker;

mod browser;
mod cookies;
mod session;

mod accounts;

mod guards;
mod pages;
mod server;
mod site;

mod chance;
mod clock;
mod config;

use std::net::SocketAddr;
use std::sync::Arc;

use contract::RedirectUri;
use rocket::{Build, Rocket};

use crate::accounts::Accounts;
use crate::broker::Broker;
use crate::session::Sessions;

pub use crate::clock::Clock;
pub use crate::config::{Config, StartError};

/// The application: what it was told, and all that it remembers.
///
/// Several servers may serve one `App`, which is how the demo answers on
/// `127.0.0.1` and on `::1` at once: `localhost` may mean either, and a browser
/// must find its session on both.
pub struct App {
    pub(crate) config: Config,
    pub(crate) clock: Clock,
    pub(crate) broker: Broker,
    pub(crate) sessions: Sessions,
    pub(crate) accounts: Accounts,
    /// Where the clean flow comes back to: registered with the broker.
    pub(crate) clean_callback: RedirectUri,
    /// Where the legacy flow comes back to: registered with the broker.
    pub(crate) legacy_callback: RedirectUri,
}

impl App {
    /// Makes an application that remembers nobody yet.
    ///
    /// # Errors
    ///
    /// [`StartError`] when the configuration would be unsafe, or when no HTTPS
    /// client can be made.
    pub fn new(config: Config, clock: Clock) -> Result<Arc<Self>, StartError> {
        config.refuse_example_secret()?;
        Ok(Arc::new(Self {
            broker: Broker::new(&config)?,
            sessions: Sessions::with_room_for(config.max_sessions),
            accounts: Accounts::default(),
            clean_callback: config.callback("/callback"),
            legacy_callback: config.callback("/legacy/callback"),
            clock,
            config,
        }))
    }

    /// A server for this application that will listen on `bind`; port 0 takes a
    /// free one. It reads no `Rocket.toml`, no environment and no signals.
    ///
    /// # Errors
    ///
    /// [`StartError`] when `bind` is reachable from outside and the client
    /// secret is an example.
    pub fn rocket(self: &Arc<Self>, bind: SocketAddr) -> Result<Rocket<Build>, StartError> {
        if !bind.ip().is_loopback() {
            config::refuse_if_example(&self.config.client_secret)?;
        }
        Ok(server::build(Arc::clone(self), bind))
    }

    /// Forgets every session and every account.
    pub fn reset(&self) {
        self.sessions.clear();
        self.accounts.clear();
    }
}
