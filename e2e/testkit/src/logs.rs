//! Every line that this process logs, at the most verbose level.

use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

static LINES: LazyLock<Mutex<String>> = LazyLock::new(Mutex::default);

/// Starts to collect the log. Every fixture calls it; the first call counts.
pub fn listen() {
    crate::leak_check::watch_log_and(|line| lines().push_str(line));
}

/// The log so far.
pub fn text() -> String {
    lines().clone()
}

/// The logged lines that contain all of `words`.
pub fn lines_with(words: &[&str]) -> Vec<String> {
    text()
        .lines()
        .filter(|line| words.iter().all(|word| line.contains(word)))
        .map(ToOwned::to_owned)
        .collect()
}

fn lines() -> MutexGuard<'static, String> {
    LINES.lock().unwrap_or_else(PoisonError::into_inner)
}
