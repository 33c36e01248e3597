//! The one source of time: the system's clock, or another that is handed in, plus
//! an offset moved by hand.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::flows::UnixMs;

/// A clock that never goes back. Clones show the same time.
#[derive(Debug, Clone)]
pub struct Clock(Arc<Mutex<Hands>>);

struct Hands {
    /// What moves it by itself.
    source: Box<dyn Fn() -> UnixMs + Send>,
    /// How far it was moved by hand, in milliseconds.
    advanced_ms: i64,
    /// How far its source was set back since, in milliseconds. What has expired
    /// must not live again, and what lives must go on ageing.
    made_up_ms: i64,
    /// The latest time it has shown.
    shown_ms: i64,
}

impl Clock {
    /// A clock that shows the system's time.
    pub fn system() -> Self {
        Self::over(system_time)
    }

    /// A clock that shows `at` until it is moved by hand.
    pub fn standing_at(at: UnixMs) -> Self {
        Self::over(move || at)
    }

    /// A clock that goes by what `source` says, wherever that jumps: on with it,
    /// but never back.
    pub fn over(source: impl Fn() -> UnixMs + Send + 'static) -> Self {
        Self(Arc::new(Mutex::new(Hands {
            source: Box::new(source),
            advanced_ms: 0,
            made_up_ms: 0,
            shown_ms: 0,
        })))
    }

    /// What time it is.
    pub fn now(&self) -> UnixMs {
        self.hands().show()
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

impl Default for Clock {
    fn default() -> Self {
        Self::system()
    }
}

impl fmt::Debug for Hands {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hands")
            .field("advanced_ms", &self.advanced_ms)
            .field("made_up_ms", &self.made_up_ms)
            .field("shown_ms", &self.shown_ms)
            .finish_non_exhaustive()
    }
}

impl Hands {
    /// The time now. Whoever asks holds the lock, or a time that was read earlier
    /// and shown later would look like one that was set back.
    fn show(&mut self) -> UnixMs {
        let offset_ms = self.advanced_ms.saturating_add(self.made_up_ms);
        let now_ms = (self.source)().0.saturating_add(offset_ms);
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
fn system_time() -> UnixMs {
    let since_epoch = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    UnixMs(i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX))
}

/// Measures how long something takes. It decides nothing, and nobody moves it.
#[derive(Debug)]
pub(crate) struct Stopwatch(Instant);

#[expect(
    clippy::disallowed_methods,
    reason = "the one place that measures: what it shows is only told"
)]
impl Stopwatch {
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicI64, Ordering};

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
    fn a_source_that_is_set_back_revives_nothing_and_stops_nothing() {
        let wall = Arc::new(AtomicI64::new(0));
        let read = wall.clone();
        let clock = Clock::over(move || UnixMs(read.load(Ordering::SeqCst)));
        let at = |wall_ms| {
            wall.store(wall_ms, Ordering::SeqCst);
            clock.now()
        };
        assert_eq!(at(5_000_000), UnixMs(5_000_000));
        assert_eq!(at(1_400_000), UnixMs(5_000_000), "an hour back");
        assert_eq!(at(1_400_700), UnixMs(5_000_700), "and time goes on");
        clock.advance(Duration::from_secs(600));
        assert_eq!(at(1_400_700), UnixMs(5_600_700));
        assert_eq!(
            at(5_001_000),
            UnixMs(9_201_000),
            "it is not set right again"
        );
    }
}
