//! The only source of time: the system's clock, or another that is injected, plus an
//! offset that is advanced by hand.
//!
//! # A clock that is set
//!
//! The time never goes back within a process, or what has expired would be valid
//! again. While the system's clock is behind a time that was returned already, the
//! time continues at three quarters of its speed, measured by the machine's monotonic
//! clock, until the system's clock has caught up. So an error passes by itself: a step
//! of an hour that is corrected is over after four hours at the latest. Meanwhile a
//! lifetime is at most a third longer than it should be. What is single-use does not
//! depend on the time. A step ahead is always applied: a machine that was asleep wakes
//! up with one.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;

use crate::model::UnixMs;

/// A clock that never goes back. Clones return the same time.
#[derive(Debug, Clone)]
pub struct Clock(Arc<Mutex<State>>);

/// A reading of a machine's two clocks at one moment.
#[derive(Debug, Clone, Copy)]
pub struct Reading {
    /// The time of day, which can be set.
    pub wall: UnixMs,
    /// The time since the machine started, in milliseconds: it cannot be set and never
    /// goes back.
    pub monotonic_ms: i64,
}

struct State {
    /// The source of its readings.
    source: Box<dyn Fn() -> Reading + Send>,
    /// The offset by which it was advanced by hand, in milliseconds.
    advanced_ms: i64,
    /// The latest reading whose wall clock was not behind the time returned before.
    caught_up: Option<Reading>,
    /// The milliseconds by which the wall clock was behind when the log last reported
    /// it, or the least since then.
    reported_behind_ms: i64,
}

impl Clock {
    /// A clock that returns the system's time.
    pub fn system() -> Self {
        let stopwatch = Stopwatch::start();
        Self::from_source(move || Reading {
            wall: system_time(),
            monotonic_ms: whole_ms(stopwatch.elapsed()),
        })
    }

    /// A clock that shows `at` now, and then follows the machine's monotonic clock.
    pub fn starting_at(at: UnixMs) -> Self {
        let stopwatch = Stopwatch::start();
        Self::from_source(move || {
            let monotonic_ms = whole_ms(stopwatch.elapsed());
            Reading {
                wall: at.plus_ms(monotonic_ms),
                monotonic_ms,
            }
        })
    }

    /// A clock that returns `at` until it is advanced by hand.
    pub fn fixed_at(at: UnixMs) -> Self {
        Self::from_source(move || Reading {
            wall: at,
            monotonic_ms: 0,
        })
    }

    /// A clock that follows the readings of `source`, but never back when its wall clock
    /// is set back.
    pub fn from_source(source: impl Fn() -> Reading + Send + 'static) -> Self {
        Self(Arc::new(Mutex::new(State {
            source: Box::new(source),
            advanced_ms: 0,
            caught_up: None,
            reported_behind_ms: 0,
        })))
    }

    /// The present time.
    pub fn now(&self) -> UnixMs {
        self.0.lock().now()
    }

    /// Advances the clock and all its clones.
    pub fn advance(&self, by: Duration) {
        let mut state = self.0.lock();
        state.advanced_ms = state.advanced_ms.saturating_add(whole_ms(by));
    }

    /// The offset by which it was advanced by hand, in milliseconds.
    pub fn advanced_ms(&self) -> i64 {
        self.0.lock().advanced_ms
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::system()
    }
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("State")
            .field("advanced_ms", &self.advanced_ms)
            .field("caught_up", &self.caught_up)
            .finish_non_exhaustive()
    }
}

impl State {
    /// The present time. The caller holds the lock, or a time that was read earlier and
    /// returned later would look like a clock that was set back.
    fn now(&mut self) -> UnixMs {
        let reading = (self.source)();
        let floor = match self.caught_up {
            Some(then) => then
                .wall
                .plus_ms(slowed(reading.monotonic_ms - then.monotonic_ms)),
            None => reading.wall,
        };
        if floor <= reading.wall {
            self.caught_up = Some(reading);
        }
        let time = floor.max(reading.wall);
        self.report(time.0.saturating_sub(reading.wall.0));
        time.plus_ms(self.advanced_ms)
    }

    /// Logs when the wall clock was set back, and when it has caught up.
    fn report(&mut self, behind_ms: i64) {
        match self.reported_behind_ms {
            reported if behind_ms >= reported.saturating_add(LEAST_REPORTED_MS) => {
                tracing::warn!(
                    behind_ms,
                    "the system's clock was set back; ours continues, a quarter slower, \
                     until the system's has caught up"
                );
                self.reported_behind_ms = behind_ms;
            }
            1.. if behind_ms == 0 => {
                tracing::info!("the system's clock has caught up with ours");
                self.reported_behind_ms = 0;
            }
            reported => self.reported_behind_ms = reported.min(behind_ms),
        }
    }
}

/// The smallest step back of the system's clock that is logged.
const LEAST_REPORTED_MS: i64 = 1000;

/// The milliseconds that the time advances in `ms` while the wall clock is behind it.
fn slowed(ms: i64) -> i64 {
    let ms = ms.max(0);
    ms - ms / 4
}

/// The whole milliseconds of a duration.
pub(crate) fn whole_ms(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

#[expect(
    clippy::disallowed_methods,
    reason = "the one place that reads the wall clock"
)]
fn system_time() -> UnixMs {
    let since_epoch = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    UnixMs(whole_ms(since_epoch))
}

/// Measures how long something takes, on the machine's monotonic clock.
#[derive(Debug)]
pub(crate) struct Stopwatch(Instant);

#[expect(
    clippy::disallowed_methods,
    reason = "the one place that reads the monotonic clock"
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

    use proptest::prelude::*;

    use super::*;

    const HOUR_MS: i64 = 3_600_000;

    /// A machine whose wall clock can be set.
    #[derive(Clone, Default)]
    struct Machine(Arc<[AtomicI64; 2]>);

    impl Machine {
        fn clock(&self) -> Clock {
            let machine = self.clone();
            Clock::from_source(move || Reading {
                wall: machine.wall(),
                monotonic_ms: machine.0[1].load(Ordering::SeqCst),
            })
        }

        fn wall(&self) -> UnixMs {
            UnixMs(self.0[0].load(Ordering::SeqCst))
        }

        fn set_by(&self, ms: i64) {
            self.0[0].fetch_add(ms, Ordering::SeqCst);
        }

        fn advance(&self, ms: i64) {
            for clock in self.0.as_ref() {
                clock.fetch_add(ms, Ordering::SeqCst);
            }
        }
    }

    #[test]
    fn a_fixed_clock_advances_only_by_hand_and_for_all_clones() {
        let clock = Clock::fixed_at(UnixMs(5_000));
        let other = clock.clone();
        assert_eq!(clock.now(), UnixMs(5_000));
        clock.advance(Duration::from_millis(599_999));
        assert_eq!(other.now(), UnixMs(604_999));
        assert_eq!(other.advanced_ms(), 599_999);
        other.advance(Duration::MAX);
        assert_eq!(clock.now(), UnixMs(i64::MAX));
    }

    #[test]
    fn an_hour_back_that_is_corrected_leaves_nothing_behind() {
        let machine = Machine::default();
        machine.set_by(5 * HOUR_MS);
        let clock = machine.clock();
        assert_eq!(clock.now(), UnixMs(5 * HOUR_MS));
        machine.set_by(-HOUR_MS);
        assert_eq!(clock.now(), UnixMs(5 * HOUR_MS), "never back");
        machine.advance(1_200_000);
        assert_eq!(
            clock.now(),
            UnixMs(5 * HOUR_MS + 900_000),
            "and it continues"
        );
        machine.set_by(HOUR_MS);
        assert_eq!(clock.now(), machine.wall(), "nothing is left of the hour");
        clock.advance(Duration::from_secs(600));
        machine.advance(7);
        assert_eq!(clock.now(), machine.wall().plus_ms(600_000));
    }

    // Threats: L5.
    #[test]
    fn an_hour_ahead_that_is_corrected_is_over_after_four() {
        let machine = Machine::default();
        let clock = machine.clock();
        clock.now();
        machine.set_by(HOUR_MS);
        assert_eq!(clock.now(), UnixMs(HOUR_MS), "a step ahead is applied");
        machine.set_by(-HOUR_MS);
        machine.advance(4 * HOUR_MS - 4);
        assert_eq!(clock.now(), machine.wall().plus_ms(1));
        machine.advance(4);
        assert_eq!(clock.now(), machine.wall());
        machine.advance(HOUR_MS);
        assert_eq!(clock.now(), machine.wall());
    }

    proptest! {
        /// However the wall clock is set, and however often the time is read.
        // Threats: L5.
        #[test]
        fn the_time_never_goes_back_nor_slower_than_three_quarters_nor_behind_the_wall(
            steps in prop::collection::vec((0..10_000_i64, -20_000..20_000_i64), 1..60)
        ) {
            let machine = Machine::default();
            let clock = machine.clock();
            let (began, mut last) = (clock.now(), clock.now());
            let mut ran_ms = 0;
            for (ms, set_ms) in steps {
                machine.advance(ms);
                machine.set_by(set_ms);
                ran_ms += ms;
                let now = clock.now();
                prop_assert!(now >= last && now >= machine.wall());
                prop_assert!(now.0 - began.0 >= ran_ms - ran_ms / 4);
                last = now;
            }
            // Any remaining difference is gone after four times as long.
            let ahead_ms = last.0 - machine.wall().0;
            machine.advance(4 * ahead_ms + 4);
            prop_assert_eq!(clock.now(), machine.wall());
        }
    }
}
