//! The one clock of the stack, the system's time plus an offset.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use broker::clock::Clock;
use broker::model::UnixMs;
use rocket::time::OffsetDateTime;

/// Ten years: enough for any test, and far from where times overflow.
const MAX_ADVANCE_SECONDS: f64 = 315_360_000.0;

/// The clock of the broker, the demo and both providers. Clones show the same time.
#[derive(Debug, Clone, Default)]
pub struct StackClock {
    current: Arc<RwLock<Clock>>,
    start: ClockStart,
}

/// The time of a clock at its start and after a reset.
#[derive(Debug, Clone, Copy, Default)]
enum ClockStart {
    /// The system's time.
    #[default]
    System,
    /// This time, from which the clock flows.
    At(UnixMs),
    /// This time, at which the clock stands until it is advanced.
    FrozenAt(UnixMs),
}

/// The clock cannot be advanced by this much.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "seconds must be between 0 and 315360000, which are ten years; the clock does not go \
     back, but POST /api/reset sets it to its start"
)]
pub(crate) struct InvalidAdvance;

impl StackClock {
    /// A clock that shows `unix_ms` until it is advanced, for tests of a single
    /// millisecond.
    pub fn frozen_at(unix_ms: i64) -> Self {
        Self::from_start(ClockStart::FrozenAt(UnixMs(unix_ms)))
    }

    /// A clock that shows `at` now, and flows.
    pub(crate) fn starting_at(at: UnixMs) -> Self {
        Self::from_start(ClockStart::At(at))
    }

    fn from_start(start: ClockStart) -> Self {
        Self {
            current: Arc::new(RwLock::new(start.clock())),
            start,
        }
    }

    /// The time, in Unix milliseconds.
    pub fn now_ms(&self) -> i64 {
        self.current().now().0
    }

    /// The sum of all advances, in milliseconds.
    pub fn advanced_ms(&self) -> i64 {
        self.current().advanced_ms()
    }

    /// Moves the clock ahead, for the whole stack.
    pub fn advance(&self, by: Duration) {
        self.current().advance(by);
    }

    /// Moves the clock ahead by a number that comes from outside.
    pub(crate) fn advance_seconds(&self, seconds: f64) -> Result<(), InvalidAdvance> {
        if !(0.0..=MAX_ADVANCE_SECONDS).contains(&seconds) {
            return Err(InvalidAdvance);
        }
        self.advance(Duration::from_secs_f64(seconds));
        Ok(())
    }

    /// The clock of the current broker.
    pub(crate) fn current(&self) -> Clock {
        self.current
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// A clock for the next broker, at the time where this one started.
    pub(crate) fn restarted(&self) -> Clock {
        self.start.clock()
    }

    /// Replaces the current clock, which cannot go back, after a reset. No part of
    /// the old broker may use the time after this.
    pub(crate) fn replace(&self, clock: Clock) {
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = clock;
    }

    pub(crate) fn for_consumer(&self) -> consumer_demo::Clock {
        let clock = self.clone();
        consumer_demo::Clock::new(move || clock.now_ms())
    }

    pub(crate) fn for_upstream(&self) -> mock_upstream::Clock {
        let clock = self.clone();
        mock_upstream::Clock::new(move || clock.now_ms())
    }
}

impl ClockStart {
    fn clock(self) -> Clock {
        match self {
            Self::System => Clock::system(),
            Self::At(at) => Clock::starting_at(at),
            Self::FrozenAt(at) => Clock::fixed_at(at),
        }
    }
}
/// The time in UTC: `2026-11-27T18:05:00Z`.
pub fn utc(unix_ms: i64) -> String {
    let moment = OffsetDateTime::from_unix_timestamp(unix_ms.div_euclid(1000));
    let moment = moment.unwrap_or(OffsetDateTime::UNIX_EPOCH);
    let (hour, minute, second) = moment.to_hms();
    format!("{}T{hour:02}:{minute:02}:{second:02}Z", moment.date())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_in_utc_has_the_form_of_rfc_3339() {
        assert_eq!(utc(1_795_802_705_999), "2026-11-27T18:05:05Z");
    }
}
