//! Overload: work arrives faster than this broker can do it.
//!
//! The queue that grows then is nowhere counted. When the processor is the limit, it is in
//! the sockets and in the runtime, where a task that is ready waits for its turn; when the
//! disk or the database is, it is the steps that wait for the store. So the measure is a
//! delay: that of a task which could run, and that of the store's steps.
//!
//! The limit is that of a request. A request waits for one step, but for many tasks, its own
//! and those of connections, so that a task's limit is a tenth of it.
//!
//! When the delay stays above its limit, logins begin only while both delays are below a
//! tenth of the limit. A login that begins brings three more requests, which no measure sees
//! yet: at the limit itself, those would keep the queue long.
//!
//! The queue for a provider has a limit of its own, `limits.upstream_calls`.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

use crate::store::step_queue::StepQueue;

/// The long delays in a row that make an overload: some come from a machine that was asleep
/// or from a short burst, which pass before there are so many.
const OVERLOADED_AFTER: u32 = TENTHS;

/// The short delays in a row after which an overload is over. Until then, each longer one
/// refuses logins at once.
const OVER_AFTER: u32 = 20;

/// The samples without a long delay after which an overload is over, however long delays
/// usually are here: two seconds at the default limit.
const OVER_WITHOUT_LONG: u32 = 200;

/// The samples in the time of the limit, and what the limit is to that of a task.
const TENTHS: u32 = 10;

/// Whether this broker is overloaded.
#[derive(Debug)]
pub(crate) struct Overload {
    limit: Duration,
    /// The interval between two samples.
    pub(crate) sample_every: Duration,
    /// The steps that wait for the store.
    pub(crate) steps: Arc<StepQueue>,
    state: Mutex<State>,
    refuses: AtomicBool,
}

impl Overload {
    /// No overload yet; a delay of more than `limit_ms` will be one.
    pub(super) fn new(limit_ms: NonZeroU32) -> Self {
        let limit = Duration::from_millis(limit_ms.get().into());
        Self {
            limit,
            sample_every: limit / TENTHS,
            steps: Arc::default(),
            state: Mutex::new(State::Normal { long: 0 }),
            refuses: AtomicBool::new(false),
        }
    }

    /// Takes a sample, `of_a_task` after a task should have run. Returns the longer delay.
    pub(crate) fn sample(&self, of_a_task: Duration) -> Duration {
        let of_steps = self.steps.delay();
        let delay = Delay::new(of_a_task, of_steps, self.limit);
        let mut state = self.state.lock();
        *state = state.after(delay);
        self.refuses.store(state.refuses(), Ordering::Relaxed);
        of_a_task.max(of_steps)
    }

    /// Whether logins that begin now are refused.
    pub(super) fn refuses(&self) -> bool {
        self.refuses.load(Ordering::Relaxed)
    }
}

/// A sample, compared with the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Delay {
    /// Both delays are within a tenth of the limit.
    Short,
    /// Neither short nor long.
    Between,
    /// A task's above a tenth of the limit, or that of the steps above the limit.
    Long,
}

impl Delay {
    fn new(of_a_task: Duration, of_steps: Duration, limit: Duration) -> Self {
        let tenth = limit / TENTHS;
        match (of_a_task > tenth, of_steps > tenth) {
            (true, _) => Self::Long,
            (false, true) if of_steps > limit => Self::Long,
            (false, true) => Self::Between,
            (false, false) => Self::Short,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Every login begins. The number of long delays in a row.
    Normal { long: u32 },
    /// Logins begin after a short delay. The number of those since the last longer one, and
    /// of all since the last long one.
    Overloaded { short: u32, not_long: u32 },
}

impl State {
    /// The state after one more delay.
    fn after(self, delay: Delay) -> Self {
        match (self, delay) {
            (Self::Normal { long }, Delay::Long) if long + 1 < OVERLOADED_AFTER => {
                Self::Normal { long: long + 1 }
            }
            (_, Delay::Long) => Self::overloaded(0, 0),
            (Self::Normal { .. }, _) => Self::Normal { long: 0 },
            (Self::Overloaded { not_long, .. }, Delay::Between) => {
                Self::overloaded(0, not_long + 1)
            }
            (Self::Overloaded { short, not_long }, Delay::Short) => {
                Self::overloaded(short + 1, not_long + 1)
            }
        }
    }

    /// An overload after which so many delays were not long, unless it is over.
    fn overloaded(short: u32, not_long: u32) -> Self {
        match short < OVER_AFTER && not_long < OVER_WITHOUT_LONG {
            true => Self::Overloaded { short, not_long },
            false => Self::Normal { long: 0 },
        }
    }

    fn refuses(self) -> bool {
        matches!(self, Self::Overloaded { short: 0, .. })
    }
}

#[cfg(test)]
mod tests {
    use super::Delay::{Between, Long, Short};
    use super::*;

    /// Whether logins are refused after each of these delays.
    fn refusals(delays: impl IntoIterator<Item = Delay>) -> Vec<bool> {
        let mut state = State::Normal { long: 0 };
        let observe = |delay| {
            state = state.after(delay);
            state.refuses()
        };
        delays.into_iter().map(observe).collect()
    }

    fn overload() -> impl Iterator<Item = Delay> {
        std::iter::repeat_n(Long, OVERLOADED_AFTER as usize)
    }

    #[test]
    fn a_tasks_limit_is_a_tenth_of_that_of_the_steps() {
        let limit = Duration::from_millis(100);
        let delay = |task: u64, steps: u64| {
            Delay::new(
                Duration::from_millis(task),
                Duration::from_millis(steps),
                limit,
            )
        };
        let delays = [delay(10, 10), delay(10, 100), delay(11, 0), delay(0, 101)];
        assert_eq!(delays, [Short, Between, Long, Long]);
    }

    #[test]
    fn a_delay_that_stays_long_refuses_logins() {
        let mut refused = vec![false; OVERLOADED_AFTER as usize - 1];
        refused.extend([true, true]);
        assert_eq!(refusals(overload().chain([Long])), refused);
    }

    #[test]
    fn a_delay_at_its_limit_refuses_none() {
        assert_eq!(refusals([Between; 100]), [false; 100]);
    }

    #[test]
    fn a_burst_that_is_over_in_time_refuses_none() {
        let burst = overload().skip(1).chain([Between]);
        let bursts = burst.collect::<Vec<_>>().repeat(50);
        assert!(!refusals(bursts).contains(&true));
    }

    #[test]
    fn after_an_overload_logins_begin_with_the_first_short_delay() {
        let after = refusals(overload().chain([Between, Short, Short]));
        assert_eq!(after[after.len() - 3..], [true, false, false]);
    }

    #[test]
    fn where_delays_are_never_short_an_overload_ends_without_a_long_one() {
        let usual = std::iter::repeat_n(Between, OVER_WITHOUT_LONG as usize);
        let refused = refusals(overload().chain(usual));
        let end = (OVERLOADED_AFTER + OVER_WITHOUT_LONG) as usize - 1;
        assert_eq!(refused.iter().rposition(|it| *it), Some(end - 1));
        assert!(!refused[end]);
    }

    #[test]
    fn an_overload_that_comes_back_soon_refuses_at_once_and_later_does_not() {
        let again = |pause: u32| {
            let pause = std::iter::repeat_n(Short, pause as usize);
            refusals(overload().chain(pause).chain([Long])).pop()
        };
        assert_eq!(again(OVER_AFTER - 1), Some(true));
        assert_eq!(again(OVER_AFTER), Some(false));
    }
}
