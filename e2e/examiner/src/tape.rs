//! The record of one trial: each exchange that the examiner saw, in order, without
//! secrets.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;

use crate::time::Stopwatch;

/// The number of lines that a tape keeps; a loop of redirects must not fill the report.
const MAX_LINES: usize = 400;

/// The requests of one trial to the app, the broker and the providers.
pub(crate) const MAX_REQUESTS: usize = 1_000;

/// One exchange, as the report shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TapeLine {
    /// The time since the trial began, in milliseconds.
    pub at: u64,
    /// The sender: `browser A`, `app`, `examiner`.
    pub from: String,
    /// The receiver.
    pub to: String,
    /// The request and its answer, in one line.
    pub what: String,
    /// Whether the app went wrong here, as far as the examiner can tell.
    #[serde(skip)]
    pub is_wrong: bool,
}

impl TapeLine {
    fn concerns_app(&self) -> bool {
        self.from == "app" || self.to == "app"
    }
}

/// The record of one trial, shared by its browsers.
#[derive(Debug, Clone)]
pub(crate) struct Tape {
    watch: Stopwatch,
    lines: Arc<Mutex<Vec<TapeLine>>>,
    requests: Arc<AtomicUsize>,
}

impl Tape {
    pub(crate) fn start() -> Self {
        Self {
            watch: Stopwatch::start(),
            lines: Arc::default(),
            requests: Arc::default(),
        }
    }

    /// Adds a line. `what` must be free of secrets.
    pub(crate) fn add(&self, from: &str, to: &str, what: impl Into<String>) {
        let mut lines = self.lock();
        if lines.len() < MAX_LINES {
            lines.push(TapeLine {
                at: self.watch.elapsed_ms(),
                from: from.to_owned(),
                to: to.to_owned(),
                what: what.into(),
                is_wrong: false,
            });
        }
    }

    /// Marks the last exchange with the app: the one before a check failed.
    pub(crate) fn mark_wrong(&self) {
        let mut lines = self.lock();
        let last = lines.iter_mut().rev().find(|it| it.concerns_app());
        if let Some(line) = last {
            line.is_wrong = true;
        }
    }

    /// Counts a request, and returns whether the trial may send it.
    pub(crate) fn may_send(&self) -> bool {
        self.requests.fetch_add(1, Ordering::Relaxed) < MAX_REQUESTS
    }

    /// The lines so far.
    pub(crate) fn lines(&self) -> Vec<TapeLine> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<TapeLine>> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_exchange_with_the_app_is_the_wrong_one() {
        let tape = Tape::start();
        tape.add("browser A", "app", "GET / \u{2192} 200");
        tape.add("browser A", "app", "GET /callback \u{2192} 303");
        tape.add("examiner", "clock", "600 s pass");
        tape.mark_wrong();
        let wrong: Vec<_> = tape.lines().iter().map(|it| it.is_wrong).collect();
        assert_eq!(wrong, [false, true, false]);
    }
}
