//! The output of a run. Each of its random decisions is drawn from a seed, but for those of the
//! operating system and the disk. The output is a bar meanwhile and a table at the end.

use std::io::Write as _;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

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

/// Writes one line to standard error.
pub(crate) fn progress(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// `1 broker`, or `2 brokers`.
pub(crate) fn broker_count(count: usize) -> String {
    format!("{count} broker{}", if count == 1 { "" } else { "s" })
}

/// A duration for readers: `1 h 02 min 03 s`.
pub(crate) fn duration(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let (hours, minutes) = (seconds / 3_600, seconds / 60 % 60);
    match (hours, minutes) {
        (0, 0) => format!("{seconds} s"),
        (0, _) => format!("{minutes} min {:02} s", seconds % 60),
        _ => format!("{hours} h {minutes:02} min {:02} s", seconds % 60),
    }
}
