//! The states of a login in both flows, and the transitions between them.
//!
//! This module is pure: no Rocket, no serde, no sockets, no clock. `now` is an argument,
//! and a refusal is a [`Rule`](contract::Rule).
//!
//! # The clean callback flow
//!
//! ```text
//!            open                  complete               consume_result
//!   (none) ───────► pending ─────────────────► completed ────────────────► consumed
//!                   │     │                    (a profile, or
//!                   │     │                     one of three errors)
//!                   │     └─ consume_result: still pending, nothing changes
//!                   │
//!                   └─ bind_browser: unbound ──► bound, to the first browser
//!
//!   open            POST /v1/login/session   takes the key for 600 s, in any project
//!   bind_browser    GET  /login/{handle}     on the first visit that is vouched for,
//!                                            or else
//!                   POST /login/{handle}/…   on Continue of the confirmation page
//!   complete        GET  /callback/…         by the first upstream login to finish, or
//!                   POST /login/{handle}/…   on Cancel of the confirmation page
//!   consume_result  POST /v1/login/result    once; every later read is refused
//! ```
//!
//! A pending or completed session expires 600 s after its opening.
//!
//! # The legacy flow
//!
//! ```text
//!            issue           redeem (60 s)           revoke, or a second
//!   (none) ────────► code ────────────────► token ──────────────────────► ended
//!                                           (900 s)   valid redemption
//!
//!   issue           GET  /callback/…         after the user signed in
//!   redeem          POST /v1/token           once, with client, callback and verifier
//!   revoke          POST /v1/revoke
//! ```
//!
//! # The upstream login
//!
//! ```text
//!            (a cookie)                 consume_upstream_login
//!   (none) ────────────► in the browser ──────────────────────► consumed
//!                        (600 s)
//! ```
//!
//! Both flows send the browser to the provider on an [`upstream_login`], which is
//! consumed once.

pub mod grant;
pub mod login_session;
pub mod upstream_login;

use std::time::Duration;

use contract::{Digest, SessionKey, State};

/// A point in time: milliseconds since the Unix epoch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UnixMs(pub i64);

impl UnixMs {
    /// This point, `ms` milliseconds later.
    pub fn plus_ms(self, ms: i64) -> Self {
        Self(self.0.saturating_add(ms))
    }

    /// The time since `earlier`, or zero if that is later.
    pub fn since(self, earlier: UnixMs) -> Duration {
        let ms = self.0.saturating_sub(earlier.0);
        Duration::from_millis(u64::try_from(ms).unwrap_or_default())
    }

    /// Whether a lifetime with this end is still running at `now`. The one function where
    /// Rust decides about expiry; the store says `:now < ends_ms`.
    pub fn is_after(self, now: UnixMs) -> bool {
        now < self
    }

    /// Whole seconds since the epoch.
    pub fn seconds(self) -> i64 {
        self.0.div_euclid(1000)
    }
}

/// The correlation id of a login in the audit log: 12 characters, from which no secret
/// can be derived.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct LoginId(String);

impl LoginId {
    /// The id of the login that `key` starts and reads.
    pub fn of_key(key: &SessionKey) -> Self {
        Self::of(key.expose())
    }

    /// The id of the legacy login with this `state` of the consumer's.
    pub fn of_state(state: &State) -> Self {
        Self::of(state.expose())
    }

    /// An id from a cookie or a row.
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
