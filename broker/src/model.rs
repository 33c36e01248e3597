//! The states of a login in both flows, and the transitions between them.
//!
//! Everything here is pure: no Rocket, no serde, no sockets, no clock. `now` is an
//! argument, a refusal is a [`Rule`](contract::Rule).
//!
//! # The clean callback flow
//!
//! ```text
//!              open                complete            consume_result
//!   (none) ───────────► pending ───────────► succeeded ───────────► consumed
//!                         │  │                failed
//!   consume_result: still pending            (one of three errors)
//!                         │
//!                         └─ bind: one browser, the first
//!
//!   open    POST /v1/login/session   a key is taken for 600 s, in any project
//!   claim   GET  /login/{handle}     the authorization URL's first visit, if it is
//!                                    vouched for, or else
//!           POST /login/{handle}/…   Continue or Cancel on the page that asks
//!   settle  GET  /callback/…         the first upstream login to finish
//!   take    POST /v1/login/result    once; any other read is 400
//! ```
//!
//! # The legacy flow
//!
//! ```text
//!              issue             redeem (60 s)            revoke, or a second
//!   (nothing) ─────────► code ─────────────────► token ─── valid redemption ───► ended
//!                                                (900 s)
//!   issue   GET  /callback/…         after the person signed in
//!   redeem  POST /v1/token           once, with client, callback and verifier
//! ```
//!
//! Both send the browser on a [`upstream_login`] to the provider, which counts once.

pub mod grant;
pub mod login_session;
pub mod upstream_login;

use contract::{Digest, SessionKey, State};

/// A point in time: milliseconds since the Unix epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UnixMs(pub i64);

impl UnixMs {
    /// This point, `ms` milliseconds later.
    pub fn plus_ms(self, ms: i64) -> Self {
        Self(self.0.saturating_add(ms))
    }

    /// Whether what ends here is still valid at `now`. The one place where
    /// expiry is judged in Rust; the store says `:now < ends_ms`.
    pub fn is_after(self, now: UnixMs) -> bool {
        now < self
    }

    /// Whole seconds since the epoch.
    pub fn seconds(self) -> i64 {
        self.0.div_euclid(1000)
    }
}

/// What ties the events of one login together in the audit: 12 characters that
/// lead back to no secret.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct LoginId(String);

impl LoginId {
    /// The login that `key` starts and reads.
    pub fn of_key(key: &SessionKey) -> Self {
        Self::of(key.expose())
    }

    /// The legacy login that the consumer's `state` names.
    pub fn of_state(state: &State) -> Self {
        Self::of(state.expose())
    }

    /// A fingerprint read back from where it was kept.
    pub fn kept(text: String) -> Self {
        Self(text)
    }

    /// The 12 characters.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn of(secret: &str) -> Self {
        let mut text = Digest::derive("fingerprint", secret.as_bytes()).to_text();
        text.truncate(12);
        Self(text)
    }
}
