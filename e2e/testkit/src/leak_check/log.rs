//! Watches the log of a process that runs tests, and keeps it for those that ask.
//!
//! A line of the log cannot fail the test that caused it: it may be written by
//! another thread, and a panic inside the log would be caught by a server. So the
//! whole process ends, at once and with the status of a failed test.

use std::io::{self, Write as _};
use std::panic::{self, PanicHookInfo};
use std::process;
use std::sync::Once;
use std::thread;

use parking_lot::Mutex;
use tracing::subscriber::with_default;
use tracing::{Level, Subscriber};
use tracing_subscriber::fmt::writer::MakeWriterExt as _;

use super::shape::suspicious;

/// The exit status of a process in which a test failed.
const FAILED: i32 = 101;

/// The crate that drives a test's browser. It logs every address and page that it sees,
/// as a browser does, and is no part of what is tested.
const BROWSER_DRIVER: &str = "thirtyfour";

/// The folders of the code that tests, and whose panics may show what they tested.
const IN_A_TEST: [&str; 2] = ["tests/", "testkit/src/"];

static WATCHING: Once = Once::new();

/// Every line that this process logs, once [`listen`] was called.
static LINES: Mutex<String> = Mutex::new(String::new());

/// Watches every line that this process logs from now on, at every level, and every
/// panic but those of the tests. The first one that holds a secret ends the process.
///
/// Every suite calls this where it starts what it tests; the first call counts.
pub fn watch_log() {
    watch_log_and(|_| ());
}

/// The same, and gives every line to `keep`.
///
/// # Panics
///
/// If the process has another log subscriber already.
pub fn watch_log_and(keep: fn(&str)) {
    WATCHING.call_once(|| {
        watch_panics();
        let set = tracing::subscriber::set_global_default(watcher(keep));
        set.expect("there is no other log subscriber");
    });
}

/// Starts to collect the log. Every fixture calls it; the first call counts.
pub fn listen() {
    watch_log_and(|line| LINES.lock().push_str(line));
}

/// The log so far.
pub fn text() -> String {
    LINES.lock().clone()
}

/// The logged lines that contain all of `words`.
pub fn lines_with(words: &[&str]) -> Vec<String> {
    text()
        .lines()
        .filter(|line| words.iter().all(|word| line.contains(word)))
        .map(ToOwned::to_owned)
        .collect()
}

/// Runs `work` with a log that is watched and not kept: there would be very much of it,
/// and other tests of the process read theirs.
pub fn without_keeping_log<T>(work: impl FnOnce() -> T) -> T {
    with_default(watcher(|_| ()), work)
}

fn watcher(keep: fn(&str)) -> impl Subscriber + Send + Sync {
    let writer = move || Writer { keep };
    tracing_subscriber::fmt()
        .with_max_level(Level::TRACE)
        .with_ansi(false)
        .with_writer(writer.with_filter(|line| !line.target().starts_with(BROWSER_DRIVER)))
        .finish()
}

fn watch_panics() {
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        if !is_in_a_test(panic) {
            check(&panic.to_string());
        }
        usual(panic);
    }));
}

fn is_in_a_test(panic: &PanicHookInfo<'_>) -> bool {
    panic.location().is_some_and(|location| {
        IN_A_TEST
            .iter()
            .any(|folder| location.file().contains(folder))
    })
}

struct Writer {
    keep: fn(&str),
}

impl io::Write for Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let line = String::from_utf8_lossy(bytes);
        check(&line);
        (self.keep)(&line);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn check(line: &str) {
    if let Some(secret) = suspicious(line) {
        let line = line.replace(&secret, "[HERE]");
        let this = thread::current();
        let test = this.name().unwrap_or("a thread without a name");
        // Not by a macro, whose output the test harness would keep to itself.
        let _ = writeln!(io::stderr(), "\na secret is in the log, in {test}: {line}");
        process::exit(FAILED);
    }
}
