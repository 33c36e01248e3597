//! Every line that anything in this process logs, at the most talkative level.

use std::io;
use std::sync::{LazyLock, Mutex, MutexGuard, Once, PoisonError};

use crate::sentinel;

static LINES: LazyLock<Mutex<Vec<u8>>> = LazyLock::new(Mutex::default);
static LISTENING: Once = Once::new();

/// Collects from now on what is logged. Called once or more, by whoever starts
/// something that logs.
pub(crate) fn listen() {
    LISTENING.call_once(|| {
        sentinel::hears_of_panics();
        tracing_subscriber::fmt()
            .with_max_level(tracing::Level::TRACE)
            .with_ansi(false)
            .with_writer(|| Pen)
            .init();
    });
}

/// What was logged so far.
pub(crate) fn text() -> String {
    String::from_utf8_lossy(&lines()).into_owned()
}

/// The logged lines that contain all of `words`.
pub(crate) fn lines_with(words: &[&str]) -> Vec<String> {
    text()
        .lines()
        .filter(|line| words.iter().all(|word| line.contains(word)))
        .map(ToOwned::to_owned)
        .collect()
}

/// How often the broker served `operation` for the login that the request
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

struct Pen;

impl io::Write for Pen {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        sentinel::hears(&String::from_utf8_lossy(bytes));
        lines().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn lines() -> MutexGuard<'static, Vec<u8>> {
    LINES.lock().unwrap_or_else(PoisonError::into_inner)
}
