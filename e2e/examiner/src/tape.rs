//! The record of one trial: each exchange that the examiner saw, in order, without
//! secrets.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;

use crate::time::Stopwatch;

/// The number of lines that a tape keeps; a loop of redirects must not fill the report.
const MAX_LINES: usize = 400;

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
}

/// The record of one trial, shared by its browsers.
#[derive(Debug, Clone)]
pub(crate) struct Tape {
    watch: Stopwatch,
    lines: Arc<Mutex<Vec<TapeLine>>>,
}

impl Tape {
    pub(crate) fn start() -> Self {
        Self {
            watch: Stopwatch::start(),
            lines: Arc::default(),
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
            });
        }
    }

    /// The lines so far.
    pub(crate) fn lines(&self) -> Vec<TapeLine> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<TapeLine>> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
