//! The rate limits, quotas and time limits.

use std::num::NonZeroU32;

use serde::Deserialize;

/// The `[limits]` table.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LimitsConfig {
    /// The number of wrong secrets for one `client_id` from one address within a minute
    /// that get a normal refusal; the next get 429. The right secret is never limited.
    pub wrong_secrets_per_minute: NonZeroU32,
    /// The number of browsers that may come back from a provider within a minute from
    /// one address, if addresses are known.
    pub callbacks_per_minute: NonZeroU32,
    /// The number of visits to one project's authorization URLs within a minute that may
    /// begin outside its pages before the log warns. None is refused.
    pub visits_from_elsewhere_per_minute: NonZeroU32,
    /// The number of concurrent calls to one provider. The next waits as long as a call
    /// may take.
    pub upstream_calls: NonZeroU32,
    /// The number of login sessions of one project that have not ended.
    pub live_sessions: NonZeroU32,
    /// The delay of the store's steps, in milliseconds, above which no login begins. For a
    /// task that waits for the processor it is a tenth.
    pub overload_delay_ms: NonZeroU32,
    /// The time in which a request's body must arrive, in milliseconds.
    pub body_timeout_ms: NonZeroU32,
}

impl Default for LimitsConfig {
    fn default() -> Self {
        Self {
            wrong_secrets_per_minute: non_zero(19),
            callbacks_per_minute: non_zero(600),
            visits_from_elsewhere_per_minute: non_zero(60),
            upstream_calls: non_zero(256),
            live_sessions: non_zero(1_000_000),
            overload_delay_ms: non_zero(100),
            body_timeout_ms: non_zero(10_000),
        }
    }
}

impl LimitsConfig {
    /// The limits of a broker inside another program, which may keep its processor busy for
    /// longer than a broker's users would wait.
    pub(super) fn in_process() -> Self {
        Self {
            overload_delay_ms: non_zero(5_000),
            ..Self::default()
        }
    }
}

fn non_zero(number: u32) -> NonZeroU32 {
    NonZeroU32::new(number).expect("a constant of ours is not zero")
}
