//! What is printed: a bar while it lasts, a table at the end.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use crate::history::{Heard, History, Thing};

/// A bar towards `total` of `what`. It is drawn on a terminal only.
pub(crate) fn bar(total: u64, what: &'static str) -> ProgressBar {
    let style = ProgressStyle::with_template(
        "{bar:40} {human_pos}/{human_len} {msg}  {elapsed_precise} gone, {eta_precise} to go",
    );
    let bar = ProgressBar::new(total).with_message(what);
    match style {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

/// One line to standard error, while it lasts.
pub(crate) fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// How many histories of each thing there were, and what was heard in them.
#[derive(Debug, Default)]
pub(crate) struct Tally(BTreeMap<Thing, Counts>);

#[derive(Debug, Default)]
struct Counts {
    histories: u64,
    granted: u64,
    refused: u64,
    not_yet: u64,
    ended: u64,
    nothing: u64,
}

impl Tally {
    /// Counts one more history.
    pub(crate) fn count(&mut self, history: &History) {
        let counts = self.0.entry(history.thing).or_default();
        counts.histories += 1;
        for call in &history.calls {
            *match call.heard {
                Heard::Granted => &mut counts.granted,
                Heard::Refused => &mut counts.refused,
                Heard::NotYet => &mut counts.not_yet,
                Heard::Ended => &mut counts.ended,
                Heard::Nothing => &mut counts.nothing,
            } += 1;
        }
    }

    /// How many histories were counted.
    pub(crate) fn histories(&self) -> u64 {
        self.0.values().map(|counts| counts.histories).sum()
    }

    /// How many calls heard nothing.
    pub(crate) fn nothing(&self) -> u64 {
        self.0.values().map(|counts| counts.nothing).sum()
    }

    /// The table, a line for each thing.
    pub(crate) fn table(&self) -> String {
        let mut table = format!(
            "{:<26}{:>10}{:>10}{:>10}{:>10}{:>10}\n",
            "", "histories", "granted", "refused", "not yet", "ended"
        );
        for thing in Thing::ALL {
            let none = Counts::default();
            let it = self.0.get(&thing).unwrap_or(&none);
            let _ = writeln!(
                table,
                "{:<26}{:>10}{:>10}{:>10}{:>10}{:>10}",
                thing.name(),
                it.histories,
                it.granted,
                it.refused,
                it.not_yet,
                it.ended
            );
        }
        table
    }
}

/// A duration for people: `1 h 02 min 03 s`.
pub(crate) fn spoken(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let (hours, minutes) = (seconds / 3_600, seconds / 60 % 60);
    match (hours, minutes) {
        (0, 0) => format!("{seconds} s"),
        (0, _) => format!("{minutes} min {:02} s", seconds % 60),
        _ => format!("{hours} h {minutes:02} min {:02} s", seconds % 60),
    }
}
