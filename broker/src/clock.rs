//! The one source of time: the system's clock plus an offset moved by hand, or
//! nothing but what is moved by hand.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::flows::UnixMs;

/// A clock that never goes back. Clones show the same time.
#[derive(Debug, Clone, Default)]
pub struct Clock(Arc<Mutex<Hands>>);

#[derive(Debug, Default)]
struct Hands {
    /// What moves it by itself.
    spring: Spring,
    /// How far it was moved by hand, in milliseconds.
    advanced_ms: i64,
    /// How far the system's clock was set back since, in milliseconds. What has
    /// expired must not live again, and what lives must go on ageing.
    made_up_ms: i64,
    /// The latest time it has shown.
    shown_ms: i64,
}

#[derive(Debug, Clone, Copy, Default)]
enum Spring {
    /// The system's clock.
    #[default]
    System,
    /// Nothing: it stands at this Unix time, in milliseconds, until it is moved.
    Still(i64),
}

impl Clock {
    /// A clock that shows the system's time.
    pub fn system() -> Self {
        Self::default()
    }

    /// A clock that shows `at` until it is moved by hand.
    pub fn standing_at(at: UnixMs) -> Self {
        Self(Arc::new(Mutex::new(Hands {
            spring: Spring::Still(at.0),
            ..Hands::default()
        })))
    }

    /// What time it is.
    pub fn now(&self) -> UnixMs {
        let mut hands = self.hands();
        let unmoved_ms = match hands.spring {
            Spring::System => system_ms(),
            Spring::Still(at_ms) => at_ms,
        };
        hands.show(unmoved_ms)
    }

    /// Moves it ahead, for everyone who holds a clone.
    pub fn advance(&self, by: Duration) {
        let by_ms = i64::try_from(by.as_millis()).unwrap_or(i64::MAX);
        let mut hands = self.hands();
        hands.advanced_ms = hands.advanced_ms.saturating_add(by_ms);
    }

    /// How far it has been moved, in milliseconds.
    pub fn advanced_ms(&self) -> i64 {
        self.hands().advanced_ms
    }

    fn hands(&self) -> MutexGuard<'_, Hands> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Hands {
    /// The time when the system's clock says `system_ms`.
    fn show(&mut self, system_ms: i64) -> UnixMs {
        let offset_ms = self.advanced_ms.saturating_add(self.made_up_ms);
        let now_ms = system_ms.saturating_add(offset_ms);
        let back_ms = self.shown_ms.saturating_sub(now_ms).max(0);
        if back_ms > 0 {
            tracing::warn!(back_ms, "the system's clock was set back; ours goes on");
        }
        self.made_up_ms = self.made_up_ms.saturating_add(back_ms);
        self.shown_ms = now_ms.saturating_add(back_ms);
        UnixMs(self.shown_ms)
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the one place that reads the wall clock"
)]
fn system_ms() -> i64 {
    let since_epoch = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_standing_clock_moves_only_by_hand_and_for_everyone() {
        let clock = Clock::standing_at(UnixMs(5_000));
        let other = clock.clone();
        assert_eq!(clock.now(), UnixMs(5_000));
        clock.advance(Duration::from_millis(599_999));
        assert_eq!(other.now(), UnixMs(604_999));
        assert_eq!(other.now(), UnixMs(604_999));
    }

    #[test]
    fn a_system_clock_that_is_set_back_revives_nothing_and_stops_nothing() {
        let mut hands = Hands::default();
        assert_eq!(hands.show(5_000_000), UnixMs(5_000_000));
        assert_eq!(hands.show(1_400_000), UnixMs(5_000_000), "an hour back");
        assert_eq!(hands.show(1_400_700), UnixMs(5_000_700), "and time goes on");
        hands.advanced_ms += 600_000;
        assert_eq!(hands.show(1_400_700), UnixMs(5_600_700));
        assert_eq!(
            hands.show(5_001_000),
            UnixMs(9_201_000),
            "it is not set right again"
        );
    }
}
