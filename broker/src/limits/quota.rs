//! The two quotas: requests of a key within a time, by the broker's own clock, and the login sessions
//! that a project has under way.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::num::NonZeroU32;
use std::time::Duration;

use contract::{ClientId, LoginLifetime};
use governor::clock::Clock as Ticking;
use governor::middleware::NoOpMiddleware;
use governor::state::keyed::HashMapStateStore;
use governor::{Quota, RateLimiter};
use parking_lot::Mutex;

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

/// Sessions that are opened within this time share a bucket, until the last of them has
/// ended.
const BUCKET_MS: i64 = 1_000;

/// A quota of live sessions for each project.
///
/// A session lives 600 seconds, whatever its outcome, so the live sessions are those that
/// were opened in that time. They are counted in memory: to count rows would block the
/// store's only writer, and for longer the more sessions there are.
#[derive(Debug)]
pub(super) struct SessionQuota {
    max_live: u32,
    projects: Mutex<HashMap<ClientId, Live>>,
}

/// The live sessions of one project: buckets by their end, with a count each.
#[derive(Debug, Default)]
struct Live {
    buckets: VecDeque<(UnixMs, u32)>,
    total: u32,
}

/// A session that was counted: the end of its bucket.
#[derive(Debug)]
pub(crate) struct Counted(UnixMs);

impl SessionQuota {
    pub(super) fn new(max_live: NonZeroU32) -> Self {
        Self {
            max_live: max_live.get(),
            projects: Mutex::default(),
        }
    }

    /// Counts a session that `project` opens at `now`.
    ///
    /// # Errors
    ///
    /// If the quota is used up: the seconds until a bucket has ended.
    pub(super) fn count(&self, project: &ClientId, now: UnixMs) -> Result<Counted, u64> {
        let mut projects = self.projects.lock();
        let live = projects.entry(project.clone()).or_default();
        live.forget_ended(now);
        match live.buckets.front() {
            Some((end, _)) if live.total >= self.max_live => {
                Err(u64::try_from(end.0 - now.0).unwrap_or(0).div_ceil(1_000))
            }
            _ => Ok(live.add(now)),
        }
    }

    /// Takes back a session that was counted and then not opened.
    pub(super) fn uncount(&self, project: &ClientId, counted: Counted) {
        if let Some(live) = self.projects.lock().get_mut(project) {
            live.take_back(counted);
        }
    }
}

impl Live {
    fn add(&mut self, now: UnixMs) -> Counted {
        let bucket = now.0.div_euclid(BUCKET_MS).saturating_add(1);
        let end = UnixMs(bucket.saturating_mul(BUCKET_MS)).plus_ms(LoginLifetime::MS);
        match self.buckets.back_mut() {
            Some((last, count)) if *last == end => *count += 1,
            _ => self.buckets.push_back((end, 1)),
        }
        self.total += 1;
        Counted(end)
    }

    fn forget_ended(&mut self, now: UnixMs) {
        while let Some((end, count)) = self.buckets.front().copied()
            && end <= now
        {
            self.buckets.pop_front();
            self.total -= count;
        }
    }

    fn take_back(&mut self, Counted(end): Counted) {
        let mut buckets = self.buckets.iter_mut();
        if let Some((_, count)) = buckets.find(|(it, count)| *it == end && *count > 0) {
            *count -= 1;
            self.total -= 1;
        }
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
