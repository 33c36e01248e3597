//! The one clock of the stack: the system's plus an offset, for everything that
//! judges time.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use broker::clock::Clock;

/// What everybody in the stack asks for the time. Clones show the same one.
#[derive(Debug, Clone, Default)]
pub struct StackClock(Arc<RwLock<Clock>>);

impl StackClock {
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
        self.0
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Begins a new world at the system's time. A clock never goes back, so it
    /// is a new one; the old world must be gone.
    pub(crate) fn restart(&self, clock: Clock) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = clock;
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
