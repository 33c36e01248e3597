//! The one clock of the stack: the system's plus an offset, for everything that
//! judges time.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use broker::clock::Clock;
use broker::model::UnixMs;

/// What everybody in the stack asks for the time. Clones show the same one.
#[derive(Debug, Clone, Default)]
pub struct StackClock {
    present: Arc<RwLock<Clock>>,
    /// Where it stands in a new world; none for one that flows.
    stands_at: Option<UnixMs>,
}

impl StackClock {
    /// A clock that shows `unix_ms` until it is moved: for a test that is about a
    /// single millisecond.
    pub fn standing_at(unix_ms: i64) -> Self {
        let stands_at = Some(UnixMs(unix_ms));
        Self {
            present: Arc::new(RwLock::new(begin(stands_at))),
            stands_at,
        }
    }

    /// Now, in Unix milliseconds.
    pub fn now_ms(&self) -> i64 {
        self.world().now().0
    }

    /// How far it has been moved, in milliseconds.
    pub fn advanced_ms(&self) -> i64 {
        self.world().advanced_ms()
    }

    /// Moves it ahead, for everybody.
    pub fn advance(&self, by: Duration) {
        self.world().advance(by);
    }

    /// The clock of the present world.
    pub(crate) fn world(&self) -> Clock {
        self.present
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// The clock of the next world, at the system's time, or where this one began
    /// to stand.
    pub(crate) fn anew(&self) -> Clock {
        begin(self.stands_at)
    }

    /// Begins a new world. A clock never goes back, so it is a new one; the old
    /// world must be gone.
    pub(crate) fn restart(&self, clock: Clock) {
        *self.present.write().unwrap_or_else(PoisonError::into_inner) = clock;
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

fn begin(stands_at: Option<UnixMs>) -> Clock {
    stands_at.map_or_else(Clock::system, Clock::fixed_at)
}
