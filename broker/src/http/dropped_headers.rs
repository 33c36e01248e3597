//! The headers that Rocket drops.
//!
//! Rocket leaves out every header whose value is not UTF-8, and says so only in its log.
//! A guard would take such a header for absent: of two `Origin`, a page on the web could
//! hide one. So this is the logger of the process. It notes the names of those headers
//! for the task that serves the request, and discards everything else: Rocket's lines
//! contain request lines, whose paths and queries are secrets, and our own code logs
//! through `tracing`. Then each dropped header is put back with a value that no check
//! accepts.

use std::collections::VecDeque;
use std::sync::LazyLock;

use log::{Level, LevelFilter, Log, Metadata, Record};
use parking_lot::Mutex;
use rocket::fairing::{Fairing, Info, Kind};
use rocket::http::Header;
use rocket::{Data, Request};
use tokio::task;

/// The value of a header whose own is not UTF-8.
pub(crate) const UNREADABLE: &str = "\u{FFFD}";

/// Makes this the logger of the process, in place of Rocket's, before Rocket is built.
pub fn watch() {
    static IS_LOGGER: LazyLock<bool> = LazyLock::new(|| {
        log::set_max_level(LevelFilter::Warn);
        log::set_logger(&RocketWarnings).is_ok()
    });
    if !*IS_LOGGER {
        tracing::warn!("another logger is set: headers that are not UTF-8 count as absent");
    }
}

/// The number of requests whose dropped headers are kept. Between Rocket's report and the
/// fairing nothing waits, so fewer are under way at once; the others are of requests that no
/// fairing sees, because Rocket cannot read them.
const MAX_REQUESTS: usize = 1024;

/// The names of dropped headers, by the task that serves their request, the oldest first.
static DROPPED: Mutex<VecDeque<(task::Id, Vec<String>)>> = Mutex::new(VecDeque::new());

/// Notes that the request which `task` serves lacks the header `name`.
fn note(task: task::Id, name: &str) {
    let mut dropped = DROPPED.lock();
    if let Some((_, names)) = dropped.iter_mut().rfind(|(its, _)| *its == task) {
        names.push(name.to_owned());
        return;
    }
    if dropped.len() == MAX_REQUESTS {
        dropped.pop_front();
    }
    dropped.push_back((task, vec![name.to_owned()]));
}

/// Takes the names for the request that the current task serves. Rocket reports them in
/// that task, before any code of ours runs.
fn take() -> Vec<String> {
    let mut dropped = DROPPED.lock();
    let position =
        task::try_id().and_then(|task| dropped.iter().rposition(|(its, _)| *its == task));
    let taken = position.and_then(|position| dropped.remove(position));
    taken.map(|(_, names)| names).unwrap_or_default()
}

struct RocketWarnings;

impl Log for RocketWarnings {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.level() == Level::Warn && metadata.target() == "rocket::request::request"
    }

    fn log(&self, record: &Record<'_>) {
        if !self.enabled(record.metadata()) {
            return;
        }
        let message = record.args().to_string();
        let name = message.strip_prefix("Header '");
        let name = name.and_then(|it| it.strip_suffix("' contains invalid UTF-8"));
        if let (Some(name), Some(task)) = (name, task::try_id()) {
            note(task, name);
        }
    }

    fn flush(&self) {}
}

/// Puts the dropped headers of each request back, with a value that says nothing.
pub struct RestoreDroppedHeaders;

#[rocket::async_trait]
impl Fairing for RestoreDroppedHeaders {
    fn info(&self) -> Info {
        Info {
            name: "dropped headers",
            kind: Kind::Request,
        }
    }

    async fn on_request(&self, request: &mut Request<'_>, _: &mut Data<'_>) {
        for name in take() {
            request.add_header(Header::new(name, UNREADABLE));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_no_fairing_takes_makes_room_and_hides_no_other() {
        for _ in 0..=MAX_REQUESTS {
            let unread = async { note(task::id(), "Cookie") };
            tokio::spawn(unread).await.expect("it noted a name");
        }
        let read = async {
            for name in ["Origin", "Cookie"] {
                note(task::id(), name);
            }
            (take(), take())
        };
        let (first, second) = tokio::spawn(read).await.expect("it took the names");
        assert_eq!(first, ["Origin", "Cookie"]);
        assert!(second.is_empty());
        assert_eq!(DROPPED.lock().len(), MAX_REQUESTS - 1);
    }
}
