//! How often each of many may do something, by the broker's own clock.

use std::fmt;
use std::hash::Hash;
use std::num::NonZeroU32;
use std::time::Duration;

use governor::clock::Clock as Ticking;
use governor::middleware::NoOpMiddleware;
use governor::state::keyed::HashMapStateStore;
use governor::{Quota, RateLimiter};

use crate::clock::Clock;
use crate::model::UnixMs;

/// How many are remembered at once. Whoever invents names or has many addresses
/// gets no more memory than this.
const MOST_REMEMBERED: usize = 10_000;

/// Counts what each of many does, and lets so much of it pass a minute.
pub(super) struct Frequency<K: Hash + Eq + Clone> {
    limiter: RateLimiter<K, HashMapStateStore<K>, Ticks, NoOpMiddleware<Duration>>,
    clock: Ticks,
}

impl<K: Hash + Eq + Clone> Frequency<K> {
    /// Lets everyone do it `times` a minute: that often at once, and then again by
    /// and by.
    pub(super) fn per_minute(times: NonZeroU32, clock: &Clock) -> Self {
        let clock = Ticks::from_now(clock);
        Self {
            limiter: RateLimiter::hashmap_with_clock(Quota::per_minute(times), clock.clone()),
            clock,
        }
    }

    /// Counts one more of `who`'s.
    ///
    /// # Errors
    ///
    /// When it is one too many: in how many seconds the next may pass. When too
    /// many others are remembered, a stranger is one too many at once.
    pub(super) fn count(&self, who: &K) -> Result<(), u64> {
        if self.limiter.len() >= MOST_REMEMBERED {
            self.limiter.retain_recent();
        }
        if self.limiter.len() >= MOST_REMEMBERED {
            return Err(60);
        }
        self.limiter.check_key(who).map_err(|not_until| {
            let wait = not_until.wait_time_from(self.clock.now());
            u64::try_from(wait.as_millis().div_ceil(1000).max(1)).unwrap_or(60)
        })
    }
}

impl<K: Hash + Eq + Clone> fmt::Debug for Frequency<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Frequency({} remembered)", self.limiter.len())
    }
}

/// Our clock, as the limiter reads one.
#[derive(Debug, Clone)]
struct Ticks {
    clock: Clock,
    began: UnixMs,
}

/// The limiter counts nanoseconds in 64 bits and would panic over five centuries.
const LONGEST: Duration = Duration::from_secs(60 * 60 * 24 * 365 * 200);

impl Ticks {
    fn from_now(clock: &Clock) -> Self {
        Self {
            began: clock.now(),
            clock: clock.clone(),
        }
    }
}

impl Ticking for Ticks {
    type Instant = Duration;

    fn now(&self) -> Duration {
        let since_ms = self.clock.now().0.saturating_sub(self.began.0);
        Duration::from_millis(u64::try_from(since_ms).unwrap_or(0)).min(LONGEST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_are_remembered_than_the_most_and_all_are_forgotten_in_time() {
        let clock = Clock::fixed_at(UnixMs(5_000));
        let frequency = Frequency::per_minute(NonZeroU32::MIN, &clock);
        for who in 0..MOST_REMEMBERED {
            assert_eq!(frequency.count(&who), Ok(()));
        }
        for stranger in MOST_REMEMBERED..MOST_REMEMBERED + 100 {
            assert_eq!(frequency.count(&stranger), Err(60));
        }
        assert_eq!(frequency.limiter.len(), MOST_REMEMBERED);
        clock.advance(Duration::from_secs(120));
        assert_eq!(frequency.count(&0), Ok(()));
        assert_eq!(frequency.limiter.len(), 1);
    }

    #[test]
    fn a_clock_that_is_moved_as_far_as_it_goes_breaks_nothing() {
        let clock = Clock::fixed_at(UnixMs(5_000));
        let frequency = Frequency::per_minute(NonZeroU32::MIN, &clock);
        assert_eq!(frequency.count(&()), Ok(()));
        assert_eq!(frequency.count(&()), Err(60));
        clock.advance(Duration::MAX);
        assert_eq!(frequency.count(&()), Ok(()));
    }
}
