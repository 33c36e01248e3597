//! The steps that wait for the store, and their delay.

use std::time::Duration;

use parking_lot::Mutex;

use crate::clock::Stopwatch;

/// The number of steps that make a queue. A few that wait may have met one slow statement,
/// and say nothing about the next.
const QUEUE: usize = 16;

/// The steps that wait for the store.
#[derive(Debug, Default)]
pub(crate) struct StepQueue(Mutex<Waiting>);

#[derive(Debug, Default)]
struct Waiting {
    steps: usize,
    /// The shortest delay of those that have ended since the last sample.
    shortest: Option<Duration>,
    /// Started when a step ended, or began to wait alone.
    since_progress: Option<Stopwatch>,
}

impl StepQueue {
    /// Counts a step that begins to wait.
    pub(crate) fn enter(&self) -> WaitingStep<'_> {
        self.0.lock().enter();
        WaitingStep {
            queue: self,
            waits: Stopwatch::start(),
        }
    }

    /// The shortest delay since the last call; or, if no step has ended, the time for
    /// which all have waited. None, if there is no queue.
    pub(crate) fn delay(&self) -> Duration {
        let mut waiting = self.0.lock();
        let since = waiting.since_progress.as_ref().map(Stopwatch::elapsed);
        waiting.delay(since.unwrap_or_default())
    }
}

/// A step that waits for the store, until it is dropped.
#[derive(Debug)]
pub(crate) struct WaitingStep<'a> {
    queue: &'a StepQueue,
    waits: Stopwatch,
}

impl WaitingStep<'_> {
    /// Ends a step that has its result. Returns the time for which it waited.
    pub(crate) fn end(self) -> Duration {
        let waited = self.waits.elapsed();
        self.queue.0.lock().end(waited);
        waited
    }
}

impl Drop for WaitingStep<'_> {
    fn drop(&mut self) {
        self.queue.0.lock().steps -= 1;
    }
}

impl Waiting {
    fn enter(&mut self) {
        if self.steps == 0 {
            self.since_progress = Some(Stopwatch::start());
        }
        self.steps += 1;
    }

    fn end(&mut self, waited: Duration) {
        self.shortest = Some(self.shortest.map_or(waited, |it| it.min(waited)));
        self.since_progress = Some(Stopwatch::start());
    }

    fn delay(&mut self, since_progress: Duration) -> Duration {
        let delay = self.shortest.take().unwrap_or(since_progress);
        match self.steps {
            0..QUEUE => Duration::ZERO,
            _ => delay,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// A queue of this number of steps.
    fn waiting(steps: usize) -> Waiting {
        let mut waiting = Waiting::default();
        (0..steps).for_each(|_| waiting.enter());
        waiting
    }

    #[test]
    fn the_delay_is_the_shortest_of_those_that_ended() {
        let mut waiting = waiting(QUEUE);
        for ms in [300, 200, 400] {
            waiting.end(ms * MS);
        }
        assert_eq!(waiting.delay(7 * MS), 200 * MS);
        waiting.end(500 * MS);
        assert_eq!(waiting.delay(7 * MS), 500 * MS, "since the last sample");
    }

    #[test]
    fn while_no_step_ends_the_delay_grows() {
        let mut waiting = waiting(QUEUE);
        assert_eq!(waiting.delay(800 * MS), 800 * MS);
        assert_eq!(waiting.delay(900 * MS), 900 * MS);
    }

    #[test]
    fn a_few_slow_steps_are_no_queue() {
        let mut waiting = waiting(QUEUE - 1);
        assert_eq!(waiting.delay(3_000 * MS), Duration::ZERO);
        waiting.end(3_000 * MS);
        assert_eq!(waiting.delay(MS), Duration::ZERO);
    }

    #[test]
    fn a_step_counts_until_it_ends_or_its_caller_goes_away() {
        let queue = StepQueue::default();
        let (ends, goes_away) = (queue.enter(), queue.enter());
        assert_eq!(queue.0.lock().steps, 2);
        ends.end();
        assert_eq!(queue.0.lock().steps, 1);
        drop(goes_away);
        assert_eq!(queue.0.lock().steps, 0);
    }
}
