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

mod step_queue;

use std::num::NonZeroU32;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

pub(crate) use step_queue::StepQueue;

/// The samples in a row above the limit that make an overload. One alone may be a machine
/// that was asleep, and a short burst passes before there are so many.
const OVERLOADED_AFTER: u32 = 3;

/// The short delays in a row after which an overload is over. Until then, each longer one
/// refuses logins at once.
const OVER_AFTER: u32 = 20;

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
    /// was judged.
    pub(crate) fn sample(&self, task_delay: Duration) -> Duration {
        let delay = task_delay.max(self.steps.delay());
        let mut detector = self.detector.lock().unwrap_or_else(PoisonError::into_inner);
        detector.judge(delay);
        self.refuses.store(detector.refuses(), Ordering::Relaxed);
        delay
    }

    /// Whether logins that begin now are refused.
    pub(super) fn refuses(&self) -> bool {
        self.refuses.load(Ordering::Relaxed)
    }
}

/// Judges the delays, sample by sample.
#[derive(Debug)]
struct Detector {
    limit: Duration,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Every login begins. The number of samples above the limit since the last within it.
    Normal { above: u32 },
    /// Logins begin after a short delay. The number of those since the last longer one.
    Overloaded { short: u32 },
}

impl Detector {
    fn new(limit: Duration) -> Self {
        let state = State::Normal { above: 0 };
        Self { limit, state }
    }

    fn judge(&mut self, delay: Duration) {
        let (is_long, is_short) = (delay > self.limit, delay <= self.limit / TENTHS);
        self.state = match self.state {
            State::Normal { above } if is_long && above + 1 < OVERLOADED_AFTER => {
                State::Normal { above: above + 1 }
            }
            State::Normal { .. } if is_long => State::Overloaded { short: 0 },
            State::Overloaded { .. } if !is_short => State::Overloaded { short: 0 },
            State::Overloaded { short } if short + 1 < OVER_AFTER => {
                State::Overloaded { short: short + 1 }
            }
            State::Normal { .. } | State::Overloaded { .. } => State::Normal { above: 0 },
        };
    }

    fn refuses(&self) -> bool {
        self.state == State::Overloaded { short: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_millis(101);
    const AT_LIMIT: Duration = Duration::from_millis(100);
    const SHORT: Duration = Duration::from_millis(10);

    /// Whether logins are refused after each of these samples, with a limit of 100 ms.
    fn judge(samples: impl IntoIterator<Item = Duration>) -> Vec<bool> {
        let mut detector = Detector::new(AT_LIMIT);
        let judge = |sample| {
            detector.judge(sample);
            detector.refuses()
        };
        samples.into_iter().map(judge).collect()
    }

    #[test]
    fn a_delay_that_stays_above_the_limit_refuses_logins() {
        assert_eq!(judge([LONG; 4]), [false, false, true, true]);
    }

    #[test]
    fn a_delay_at_the_limit_refuses_none() {
        assert_eq!(judge([AT_LIMIT; 100]), [false; 100]);
    }

    #[test]
    fn a_burst_that_is_over_in_time_refuses_none() {
        let bursts = [LONG, LONG, AT_LIMIT].repeat(50);
        assert_eq!(judge(bursts), [false; 150]);
    }

    #[test]
    fn a_machine_that_was_asleep_for_an_hour_refuses_none() {
        let hour = Duration::from_secs(3600);
        assert_eq!(judge([SHORT, hour, SHORT, hour]), [false; 4]);
    }

    #[test]
    fn after_an_overload_logins_begin_with_the_first_short_delay() {
        let samples = [LONG, LONG, LONG, AT_LIMIT, SHORT, SHORT];
        let refused = [false, false, true, true, false, false];
        assert_eq!(judge(samples), refused);
    }

    #[test]
    fn an_overload_that_comes_back_soon_refuses_at_once_and_later_does_not() {
        let again = |pause: u32| {
            let pause = std::iter::repeat_n(SHORT, pause as usize);
            let samples = [LONG; 3].into_iter().chain(pause).chain([LONG]);
            judge(samples).pop()
        };
        assert_eq!(again(OVER_AFTER - 1), Some(true));
        assert_eq!(again(OVER_AFTER), Some(false));
    }
}
