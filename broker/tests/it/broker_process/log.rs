//! The log that a program writes to standard error, event by event.

use std::cell::RefCell;
use std::io::{BufRead as _, BufReader};
use std::process::Child;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// The log of a program. No line of it may look as if it held a secret.
pub(super) struct Log {
    incoming: Receiver<String>,
    read: RefCell<Vec<String>>,
}

impl Log {
    pub(super) fn of(process: &mut Child) -> Self {
        let stderr = BufReader::new(process.stderr.take().unwrap());
        let (sender, incoming) = channel();
        std::thread::spawn(move || {
            let lines = stderr.lines().map_while(Result::ok);
            lines.for_each(|line| drop(sender.send(line)));
        });
        Self {
            incoming,
            read: RefCell::default(),
        }
    }

    /// Waits 20 seconds for a line in which `found` finds something. `name` is for the
    /// failure.
    #[track_caller]
    #[expect(
        clippy::disallowed_methods,
        reason = "a broker that only logs other lines is to fail its test"
    )]
    pub(super) fn find(&self, name: &str, found: impl Fn(&str) -> Option<String>) -> String {
        let mut read = self.read.borrow_mut();
        let end = Instant::now() + Duration::from_secs(20);
        loop {
            if let Some(it) = read.iter().find_map(|line| found(line)) {
                return it;
            }
            match self
                .incoming
                .recv_timeout(end.saturating_duration_since(Instant::now()))
            {
                Ok(line) => append(&mut read, line),
                Err(_) => panic!("{name:?} is not in the log:\n{}", read.join("\n")),
            }
        }
    }

    /// The whole log of a program that has ended.
    pub(super) fn rest(&self) -> String {
        let mut read = self.read.borrow_mut();
        self.incoming
            .iter()
            .for_each(|line| append(&mut read, line));
        read.join("\n")
    }
}

/// Appends a line, or what an indented one adds to the line before.
#[track_caller]
fn append(read: &mut Vec<String>, line: String) {
    let line = without_secrets(line);
    match (line.strip_prefix(' '), read.last_mut()) {
        (Some(more), Some(last)) => {
            last.push(' ');
            last.push_str(more.trim_start());
        }
        _ => read.push(line),
    }
}

/// Asserts that nothing in `line` looks like a secret, and returns it.
#[track_caller]
fn without_secrets(line: String) -> String {
    assert_eq!(testkit::leak_check::suspicious(&line), None, "in {line}");
    line
}
