//! How much is let in at once, and how often.

use std::num::NonZeroU32;

use serde::Deserialize;

/// The `[limits]` table.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LimitsConfig {
    /// How many wrong secrets for one `client_id` and from one address are told so
    /// within a minute; the next ones get 429. The right secret is served always.
    pub wrong_secrets_per_minute: NonZeroU32,
    /// How many browsers may come back from a provider within a minute from one
    /// address, as long as addresses are known.
    pub callbacks_per_minute: NonZeroU32,
    /// How many visits of one project's authorization URLs may begin somewhere else
    /// than on its pages within a minute, before the log says so. Nobody is turned
    /// away.
    pub visits_from_elsewhere_per_minute: NonZeroU32,
    /// How many calls to one provider may be under way at once. One more waits for
    /// its turn, as long as a call may take.
    pub upstream_calls: NonZeroU32,
    /// How many login sessions one project may have begun that have not ended.
    pub live_sessions: NonZeroU32,
    /// How long a request's body may take to come, in milliseconds.
    pub body_timeout_ms: NonZeroU32,
}

impl Default for LimitsConfig {
    fn default() -> Self {
        Self {
            wrong_secrets_per_minute: some(19),
            callbacks_per_minute: some(600),
            visits_from_elsewhere_per_minute: some(60),
            upstream_calls: some(256),
            live_sessions: some(1_000_000),
            body_timeout_ms: some(10_000),
        }
    }
}

fn some(number: u32) -> NonZeroU32 {
    NonZeroU32::new(number).expect("a constant of ours is not zero")
}
