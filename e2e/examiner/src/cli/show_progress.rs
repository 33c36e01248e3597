//! The progress of an examination: a bar on a terminal, else a line for each check.

use std::io::{self, Write as _};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use crate::Progress;

/// The bar.
pub(super) struct ShownProgress {
    bar: ProgressBar,
}

impl ShownProgress {
    pub(super) fn new() -> Self {
        let bar = ProgressBar::new_spinner();
        if let Ok(style) = ProgressStyle::with_template("{spinner} {pos}/{len} {msg}  {elapsed}") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(100));
        Self { bar }
    }

    pub(super) fn step(&mut self, step: &Progress<'_>) {
        match step {
            Progress::Preflight => self.say("looking at the app and signing in".to_owned()),
            Progress::Checks(number) => {
                self.bar
                    .set_length(u64::try_from(*number).unwrap_or_default());
                self.say(format!("{number} checks"));
            }
            Progress::Done(result) => {
                self.bar.inc(1);
                self.say(format!("{} {}", result.verdict.label(), result.check.id));
            }
        }
    }

    fn say(&self, text: String) {
        if self.bar.is_hidden() {
            let _ = writeln!(io::stderr(), "{text}");
        } else {
            self.bar.set_message(text);
        }
    }

    pub(super) fn end(&self) {
        self.bar.finish_and_clear();
    }
}
