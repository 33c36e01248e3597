//! The record of one trial: each exchange that the examiner saw, in order, without
//! secrets.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;

use crate::calls::{self, Call};
use crate::time::{Stopwatch, unix_ms};

/// The number of lines that a transcript keeps; a loop of redirects must not fill the report.
const MAX_LINES: usize = 400;

/// The requests of one trial to the app, the broker and the providers.
pub(crate) const MAX_REQUESTS: usize = 1_000;

/// One exchange, as the report shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TranscriptLine {
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

impl TranscriptLine {
    pub(crate) fn new(at: u64, from: &str, to: &str, what: impl Into<String>) -> Self {
        Self {
            at,
            from: printable(from),
            to: printable(to),
            what: printable(&what.into()),
            is_wrong: false,
        }
    }
}

/// The record of one trial, shared by its browsers.
#[derive(Debug, Clone)]
pub(crate) struct Transcript {
    watch: Stopwatch,
    started_ms: i64,
    record: Arc<Mutex<Record>>,
}

#[derive(Debug, Default)]
struct Record {
    lines: Vec<TranscriptLine>,
    /// The steps of the stack's clock, each with its time in the transcript.
    steps: Vec<(u64, i64)>,
    /// The names of its browsers, as they were asked for.
    browsers: Vec<String>,
    /// The number of requests.
    requests: usize,
    /// The request ids of the app's calls.
    calls: HashSet<String>,
}

impl Transcript {
    pub(crate) fn start() -> Self {
        Self {
            watch: Stopwatch::start(),
            started_ms: unix_ms(),
            record: Arc::default(),
        }
    }

    /// The time in the transcript.
    pub(crate) fn now(&self) -> u64 {
        self.watch.elapsed_ms()
    }

    /// Adds a line of this moment. `what` must be free of secrets.
    pub(crate) fn add(&self, from: &str, to: &str, what: impl Into<String>) {
        self.add_at(self.now(), from, to, what);
    }

    /// Adds a line of an earlier moment.
    pub(crate) fn add_at(&self, at: u64, from: &str, to: &str, what: impl Into<String>) {
        let mut record = self.record();
        if record.lines.len() < MAX_LINES {
            record.lines.push(TranscriptLine::new(at, from, to, what));
        }
    }

    /// Marks the last exchange with the app: the one before a check failed.
    pub(crate) fn mark_wrong(&self) {
        let mut record = self.record();
        let mut latest = record.lines.iter_mut().rev();
        if let Some(line) = latest.find(|it| it.from == "app" || it.to == "app") {
            line.is_wrong = true;
        }
    }

    /// Whether an exchange is marked.
    pub(crate) fn has_wrong(&self) -> bool {
        self.record().lines.iter().any(|line| line.is_wrong)
    }

    /// The name of a further browser: `browser A`, and `browser A (2)` for the second.
    pub(crate) fn name_of_browser(&self, name: &str) -> String {
        let mut record = self.record();
        record.browsers.push(name.to_owned());
        match record.browsers.iter().filter(|it| *it == name).count() {
            1 => name.to_owned(),
            number => format!("{name} ({number})"),
        }
    }

    /// Notes that the stack's clock is moved ahead now.
    pub(crate) fn pass(&self, seconds: u64) {
        self.add("examiner", "clock", format!("{seconds} s pass"));
        let step_ms = i64::try_from(seconds).unwrap_or_default() * 1000;
        let now = self.now();
        self.record().steps.push((now, step_ms));
    }

    /// Adds a call of the app, once. The stack's clock is `advanced_ms` ahead of the system's by
    /// now.
    pub(crate) fn add_call(&self, call: &Call, advanced_ms: i64) {
        if self.record().calls.insert(call.request_id.clone()) {
            let at = self.at_stack_time(call.at, advanced_ms);
            self.add_at(at, "app", "broker", calls::describe(call));
        }
    }

    /// The time in the transcript of a moment in the stack's time.
    fn at_stack_time(&self, stack_ms: i64, advanced_ms: i64) -> u64 {
        let record = self.record();
        let own: i64 = record.steps.iter().map(|(_, step)| step).sum();
        let mut at = stack_ms - (advanced_ms - own) - self.started_ms;
        for (step_at, step) in &record.steps {
            let after = at - step;
            if u64::try_from(after).is_ok_and(|after| after >= *step_at) {
                at = after;
            }
        }
        u64::try_from(at).unwrap_or(0)
    }

    /// Counts a request, and returns whether the trial may send it.
    pub(crate) fn may_send(&self) -> bool {
        let mut record = self.record();
        record.requests += 1;
        record.requests <= MAX_REQUESTS
    }

    /// The lines so far, in the order of time.
    pub(crate) fn lines(&self) -> Vec<TranscriptLine> {
        let mut lines = self.record().lines.clone();
        lines.sort_by_key(|line| line.at);
        lines
    }

    fn record(&self) -> MutexGuard<'_, Record> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The text with `\u{fffd}` for what could steer the terminal that shows it: every control
/// character, those that change the direction of what follows, and those that XML does not allow.
pub(crate) fn printable(text: &str) -> String {
    let steers = |c: char| {
        c.is_control()
            || matches!(c, '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{fffe}'..='\u{ffff}')
    };
    text.replace(steers, "\u{fffd}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_has_its_place_before_and_after_a_step_of_the_clock() {
        let transcript = Transcript::start();
        let ahead = 50_000;
        transcript.record().steps.push((700, 600_000));
        let before = transcript.started_ms + ahead + 300;
        let after = transcript.started_ms + ahead + 600_000 + 900;
        assert_eq!(transcript.at_stack_time(before, ahead + 600_000), 300);
        assert_eq!(transcript.at_stack_time(after, ahead + 600_000), 900);
    }

    #[test]
    fn the_last_exchange_with_the_app_is_the_wrong_one() {
        let transcript = Transcript::start();
        transcript.add("browser A", "app", "GET / \u{2192} 200");
        transcript.add("browser A", "app", "GET /callback \u{2192} 303");
        transcript.add("examiner", "clock", "600 s pass");
        transcript.mark_wrong();
        let wrong: Vec<_> = transcript.lines().iter().map(|it| it.is_wrong).collect();
        assert_eq!(wrong, [false, true, false]);
    }
}
