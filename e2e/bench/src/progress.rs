//! The progress on standard error, with the time that is left.

use std::cell::Cell;
use std::io::{IsTerminal as _, Write as _};
use std::time::Duration;

use agent::time::Stopwatch;
use indicatif::{ProgressBar, ProgressStyle};

/// The progress of all measurements.
#[derive(Debug)]
pub(crate) struct Progress {
    bar: ProgressBar,
    /// The estimate for everything.
    total: Duration,
    /// The estimates of the measurements that are over, and of the present one.
    over: Cell<Duration>,
    present: Cell<Duration>,
    /// When a line was last written, if there is no terminal for a bar.
    written: Cell<Option<Stopwatch>>,
}

/// The time between two lines.
const LINE_EVERY: Duration = Duration::from_secs(30);

impl Progress {
    pub(crate) fn of(total: Duration) -> Self {
        let bar = ProgressBar::new(total.as_secs().max(1));
        let style = "{wide_bar} {percent}% {msg}";
        bar.set_style(ProgressStyle::with_template(style).expect("a valid template"));
        Self {
            bar,
            total,
            over: Cell::default(),
            present: Cell::default(),
            written: Cell::default(),
        }
    }

    /// Begins the measurement `name`, which takes about `estimate`.
    pub(crate) fn begin(&self, name: &str, estimate: Duration) {
        self.over.set(self.over.get() + self.present.get());
        self.present.set(estimate);
        self.written.set(None);
        self.at(0.0, name);
    }

    /// Shows that this share of the present measurement is over, and what is next.
    pub(crate) fn at(&self, share: f64, next: &str) {
        let done = self.over.get() + self.present.get().mul_f64(share.clamp(0.0, 1.0));
        let left = in_words(time_left(self.total, done, self.bar.elapsed()));
        self.bar.set_position(done.as_secs());
        self.bar.set_message(format!("{left} left: {next}"));
        if !std::io::stderr().is_terminal() {
            self.write_line(&format!("bench: {left} left: {next}"));
        }
    }

    /// Writes a line, unless one was written a moment ago.
    fn write_line(&self, line: &str) {
        let recently = |written: Stopwatch| written.elapsed() < LINE_EVERY;
        if !self.written.get().is_some_and(recently) {
            let _ = writeln!(std::io::stderr(), "{line}");
            self.written.set(Some(Stopwatch::start()));
        }
    }

    pub(crate) fn end(&self) {
        self.bar.finish_and_clear();
    }
}

/// The time that is left of `total`, of which `done` took `elapsed`: the estimates are of
/// another machine, and are corrected by the pace of this one.
fn time_left(total: Duration, done: Duration, elapsed: Duration) -> Duration {
    const ENOUGH_TO_TELL: Duration = Duration::from_secs(10);
    let pace = match done >= ENOUGH_TO_TELL {
        true => elapsed.as_secs_f64() / done.as_secs_f64(),
        false => 1.0,
    };
    total.saturating_sub(done).mul_f64(pace)
}

fn in_words(time: Duration) -> String {
    match time.as_secs() {
        seconds @ ..=90 => format!("{seconds} s"),
        seconds => format!("{} min", seconds.div_ceil(60)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_follows_the_pace_of_this_machine() {
        let left = |total, done, elapsed| {
            let [total, done, elapsed] = [total, done, elapsed].map(Duration::from_secs);
            in_words(time_left(total, done, elapsed))
        };
        assert_eq!(left(120, 0, 1), "2 min");
        assert_eq!(left(100, 20, 40), "3 min");
        assert_eq!(left(59, 0, 40), "59 s");
        assert_eq!(left(100, 120, 40), "0 s");
    }
}
