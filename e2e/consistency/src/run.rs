//! The seed and the output of a run. Each random decision is drawn from the seed, but for those of
//! the operating system and the disk. The output is a bar meanwhile and a table at the end.

use std::io::Write as _;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use indicatif::{ProgressBar, ProgressStyle};
use rand::rngs::StdRng;
use rand::{Rng as _, RngExt as _, SeedableRng as _};

/// A source of decisions.
pub(crate) struct Random(StdRng);

/// A seed for a run that was given none.
pub(crate) fn any_seed() -> u64 {
    let [a, b, c, d, ..] = broker::random::bytes32();
    u32::from_be_bytes([a, b, c, d]).into()
}

impl Random {
    /// The decisions of the `index`th part of the run with this seed.
    pub(crate) fn of(seed: u64, index: u64) -> Self {
        Self(StdRng::seed_from_u64(
            seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(index),
        ))
    }

    /// Another source, drawn from this one, for what happens at the same time.
    pub(crate) fn fork(&mut self) -> Self {
        Self(StdRng::from_rng(&mut self.0))
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0.random_range(0..end)
    }

    /// True once in `n` times.
    pub(crate) fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// One of the items.
    pub(crate) fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }

    /// 43 characters of base64url: a session key, a state or a verifier.
    pub(crate) fn secret(&mut self) -> String {
        let mut bytes = [0; 32];
        self.0.fill_bytes(&mut bytes);
        URL_SAFE_NO_PAD.encode(bytes)
    }
}

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
