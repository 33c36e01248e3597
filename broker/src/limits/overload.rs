//! Overload: work arrives faster than this broker can do it.
//!
//! The queue that grows then is nowhere counted. When the processor is the limit, it is in
//! the sockets and in the runtime, where a task that is ready waits for its turn; when the
//! disk or the database is, it is the steps that wait for the store. So the measure is a
//! delay: that of a task which could run, or of the store's steps, whichever is longer.
//!
//! When the delay stays above a limit, logins begin only while it is below a tenth of the
//! limit. A login that begins brings three more requests, each with several delays, which
//! no measure sees yet: at the limit itself, those would keep the queue long.
//!
//! The queue for a provider has a limit of its own, `limits.upstream_calls`.

use std::num::NonZeroU32;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::store::step_queue::StepQueue;

/// The samples in a row above the limit that make an overload. One alone may be a machine
/// that was asleep, and a short burst passes before there are so many.
const OVERLOADED_AFTER: u32 = 3;

/// The short delays in a row after which an overload is over. Until then, each longer one
/// refuses logins at once.
const OVER_AFTER: u32 = 20;

/// The samples without a delay above the limit after which an overload is over, however
/// long delays usually are here: two seconds at the default limit.
const OVER_WITHOUT_LONG: u32 = 200;

/// The samples in the time of the limit, and the limit in short delays.
const TENTHS: u32 = 10;

/// Whether this broker is overloaded.
#[derive(Debug)]
pub(crate) struct Overload {
    /// The interval between two samples.
    pub(crate) sample_every: Duration,
    /// The steps that wait for the store.
    pub(crate) steps: Arc<StepQueue>,
    detector: Mutex<Detector>,
    refuses: AtomicBool,
}

impl Overload {
    /// No overload yet; a delay of more than `limit_ms` will be one.
    pub(super) fn new(limit_ms: NonZeroU32) -> Self {
        let limit = Duration::from_millis(limit_ms.get().into());
        Self {
            sample_every: limit / TENTHS,
            steps: Arc::default(),
            detector: Mutex::new(Detector::new(limit)),
            refuses: AtomicBool::new(false),
        }
    }

    /// Takes a sample, `task_delay` after a task should have run. Returns the delay that
    /// counts.
    pub(crate) fn sample(&self, task_delay: Duration) -> Duration {
        let delay = task_delay.max(self.steps.delay());
        let mut detector = self.detector.lock().unwrap_or_else(PoisonError::into_inner);
        detector.observe(delay);
        self.refuses.store(detector.refuses(), Ordering::Relaxed);
        delay
    }

    /// Whether logins that begin now are refused.
    pub(super) fn refuses(&self) -> bool {
        self.refuses.load(Ordering::Relaxed)
    }
}

/// Decides by the delays, sample by sample.
#[derive(Debug)]
struct Detector {
    limit: Duration,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Every login begins. The number of samples above the limit since the last within it.
    Normal { above: u32 },
    /// Logins begin after a short delay. The number of those since the last longer one, and
    /// of all since the last above the limit.
    Overloaded { short: u32, not_long: u32 },
}

impl State {
    /// The state after an overload with so many samples since then.
    fn after(short: u32, not_long: u32) -> Self {
        match short < OVER_AFTER && not_long < OVER_WITHOUT_LONG {
            true => Self::Overloaded { short, not_long },
            false => Self::Normal { above: 0 },
        }
    }
}

impl Detector {
    fn new(limit: Duration) -> Self {
        let state = State::Normal { above: 0 };
        Self { limit, state }
    }

    fn observe(&mut self, delay: Duration) {
        let (is_long, is_short) = (delay > self.limit, delay <= self.limit / TENTHS);
        self.state = match self.state {
            State::Normal { above } if is_long && above + 1 < OVERLOADED_AFTER => {
                State::Normal { above: above + 1 }
            }
            _ if is_long => State::Overloaded {
                short: 0,
                not_long: 0,
            },
            State::Normal { .. } => State::Normal { above: 0 },
            State::Overloaded { short, not_long } => {
                let short = if is_short { short + 1 } else { 0 };
                State::after(short, not_long + 1)
            }
        };
    }

    fn refuses(&self) -> bool {
        matches!(self.state, State::Overloaded { short: 0, .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_millis(101);
    const AT_LIMIT: Duration = Duration::from_millis(100);
    const SHORT: Duration = Duration::from_millis(10);

    /// Whether logins are refused after each of these samples, with a limit of 100 ms.
    fn refusals(samples: impl IntoIterator<Item = Duration>) -> Vec<bool> {
        let mut detector = Detector::new(AT_LIMIT);
        let observe = |sample| {
            detector.observe(sample);
            detector.refuses()
        };
        samples.into_iter().map(observe).collect()
    }

    #[test]
    fn a_delay_that_stays_above_the_limit_refuses_logins() {
        assert_eq!(refusals([LONG; 4]), [false, false, true, true]);
    }

    #[test]
    fn a_delay_at_the_limit_refuses_none() {
        assert_eq!(refusals([AT_LIMIT; 100]), [false; 100]);
    }

    #[test]
    fn a_burst_that_is_over_in_time_refuses_none() {
        let bursts = [LONG, LONG, AT_LIMIT].repeat(50);
        assert_eq!(refusals(bursts), [false; 150]);
    }

    #[test]
    fn a_machine_that_was_asleep_for_an_hour_refuses_none() {
        let hour = Duration::from_secs(3600);
        assert_eq!(refusals([SHORT, hour, SHORT, hour]), [false; 4]);
    }

    #[test]
    fn after_an_overload_logins_begin_with_the_first_short_delay() {
        let samples = [LONG, LONG, LONG, AT_LIMIT, SHORT, SHORT];
        let refused = [false, false, true, true, false, false];
        assert_eq!(refusals(samples), refused);
    }

    #[test]
    fn where_delays_are_never_short_an_overload_ends_without_a_long_one() {
        let usual = std::iter::repeat_n(AT_LIMIT, OVER_WITHOUT_LONG as usize);
        let refused = refusals([LONG; 3].into_iter().chain(usual));
        let end = 3 + OVER_WITHOUT_LONG as usize - 1;
        assert_eq!(refused[2..], [vec![true; end - 2], vec![false]].concat());
    }

    #[test]
    fn an_overload_that_comes_back_soon_refuses_at_once_and_later_does_not() {
        let again = |pause: u32| {
            let pause = std::iter::repeat_n(SHORT, pause as usize);
            let samples = [LONG; 3].into_iter().chain(pause).chain([LONG]);
            refusals(samples).pop()
        };
        assert_eq!(again(OVER_AFTER - 1), Some(true));
        assert_eq!(again(OVER_AFTER), Some(false));
    }
}
