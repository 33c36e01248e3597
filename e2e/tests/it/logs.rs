//! Every line that this process logs, at the most verbose level.

use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

static LINES: LazyLock<Mutex<String>> = LazyLock::new(Mutex::default);

/// Starts to collect the log. Every fixture calls it; the first call counts.
pub(crate) fn listen() {
    testkit::leak_check::watch_log_and(|line| lines().push_str(line));
}

/// The log so far.
pub(crate) fn text() -> String {
    lines().clone()
}

/// The logged lines that contain all of `words`.
pub(crate) fn lines_with(words: &[&str]) -> Vec<String> {
    text()
        .lines()
        .filter(|line| words.iter().all(|word| line.contains(word)))
        .map(ToOwned::to_owned)
        .collect()
}

/// The number of calls of `operation` for the login that the request
/// `request_id` was about.
pub(crate) fn calls_about_login_of(request_id: &str, operation: &str) -> usize {
    let of_request = lines_with(&[&format!("request_id=\"{request_id}\"")]);
    let login = of_request
        .first()
        .and_then(|line| line.split_once("login=\""))
        .and_then(|(_, rest)| rest.split_once('"'))
        .expect("the broker logs which login a request was about")
        .0;
    let (login, operation) = (
        format!("login=\"{login}\""),
        format!("operation=\"{operation}\""),
    );
    lines_with(&[&login, &operation]).len()
}

fn lines() -> MutexGuard<'static, String> {
    LINES.lock().unwrap_or_else(PoisonError::into_inner)
}
