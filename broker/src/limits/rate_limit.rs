//! A rate limit for each of many keys, by the broker's own clock.

use std::hash::Hash;
use std::num::NonZeroU32;
use std::time::Duration;

use governor::clock::Clock as Ticking;
use governor::middleware::NoOpMiddleware;
use governor::state::keyed::HashMapStateStore;
use governor::{Quota, RateLimiter};

use crate::clock::Clock;
use crate::model::UnixMs;

/// The keys that are remembered at once. A caller that invents names or has many
/// addresses gets no more memory than this.
const MAX_KEYS: usize = 10_000;

/// Lets each key pass `n` times a minute.
pub(super) struct RateLimit<K: Hash + Eq + Clone> {
    limiter: RateLimiter<K, HashMapStateStore<K>, Ticks, NoOpMiddleware<Duration>>,
    clock: Ticks,
}

impl<K: Hash + Eq + Clone> RateLimit<K> {
    /// A limit of `n` a minute for each key: as a burst, which then refills evenly.
    pub(super) fn per_minute(n: NonZeroU32, clock: &Clock) -> Self {
        let clock = Ticks::from_now(clock);
        Self {
            limiter: RateLimiter::hashmap_with_clock(Quota::per_minute(n), clock.clone()),
            clock,
        }
    }

    /// Counts one more for `key`.
    ///
    /// # Errors
    ///
    /// Above the limit: the seconds until the next one passes. When too many other keys
    /// are remembered, a new one is refused at once.
    pub(super) fn count(&self, key: &K) -> Result<(), u64> {
        if self.limiter.len() >= MAX_KEYS {
            self.limiter.retain_recent();
        }
        if self.limiter.len() >= MAX_KEYS {
            return Err(60);
        }
        self.limiter.check_key(key).map_err(|not_until| {
            let wait = not_until.wait_time_from(self.clock.now());
            u64::try_from(wait.as_millis().div_ceil(1000).max(1)).unwrap_or(60)
        })
    }
}

/// Our clock, as the limiter reads it.
#[derive(Clone)]
struct Ticks {
    clock: Clock,
    began: UnixMs,
}

/// The limiter counts nanoseconds in 64 bits and would panic after five centuries.
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
    fn no_more_than_the_greatest_number_of_keys_are_remembered_and_all_are_forgotten_in_time() {
        let clock = Clock::fixed_at(UnixMs(5_000));
        let limit = RateLimit::per_minute(NonZeroU32::MIN, &clock);
        for key in 0..MAX_KEYS {
            assert_eq!(limit.count(&key), Ok(()));
        }
        for stranger in MAX_KEYS..MAX_KEYS + 100 {
            assert_eq!(limit.count(&stranger), Err(60));
        }
        assert_eq!(limit.limiter.len(), MAX_KEYS);
        clock.advance(Duration::from_secs(120));
        assert_eq!(limit.count(&0), Ok(()));
        assert_eq!(limit.limiter.len(), 1);
    }

    #[test]
    fn a_clock_at_its_greatest_time_breaks_nothing() {
        let clock = Clock::fixed_at(UnixMs(5_000));
        let limit = RateLimit::per_minute(NonZeroU32::MIN, &clock);
        assert_eq!(limit.count(&()), Ok(()));
        assert_eq!(limit.count(&()), Err(60));
        clock.advance(Duration::MAX);
        assert_eq!(limit.count(&()), Ok(()));
    }
}
