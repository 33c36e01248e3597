//! The output of a program, read as it comes, by threads and tasks alike.

use std::io::Read;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::Duration;

use tokio::sync::Notify;

use crate::time::Stopwatch;

/// The output that is kept, the latest.
const MAX_OUTPUT_BYTES: usize = 8 * 1024 * 1024;

/// The end of what a program prints, over its restarts, and a place in it, up to which its
/// lines were read.
#[derive(Debug, Clone, Default)]
pub struct Output {
    shared: Arc<Shared>,
    read: usize,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    /// Both are notified when something was printed, or a stream has ended.
    grown: Condvar,
    grown_for_tasks: Notify,
}

#[derive(Debug, Default)]
struct State {
    printed: Printed,
    /// The streams that have not ended.
    open: usize,
}

/// The output of a program: its end, and the length of what came before.
#[derive(Debug, Clone, Default)]
pub struct Printed {
    end: Vec<u8>,
    /// The number of bytes before the end, which are not kept.
    pub dropped: usize,
}

impl Printed {
    /// The end, as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.end).into_owned()
    }

    /// The number of bytes that were printed.
    pub fn total(&self) -> usize {
        self.dropped + self.end.len()
    }
}

impl State {
    fn add(&mut self, bytes: &[u8]) {
        let kept = &mut self.printed;
        kept.end.extend_from_slice(bytes);
        // By halves, so that little is moved.
        if kept.end.len() > 2 * MAX_OUTPUT_BYTES {
            let too_much = kept.end.len() - MAX_OUTPUT_BYTES;
            kept.end.drain(..too_much);
            kept.dropped += too_much;
        }
    }

    /// The line after the first `read` bytes, and its end; the rest, once nothing follows.
    fn line_after(&self, read: usize) -> Poll<Option<(String, usize)>> {
        let Printed { end, dropped } = &self.printed;
        let rest = end.get(read.saturating_sub(*dropped)..).unwrap_or_default();
        let line = match rest.iter().position(|byte| *byte == b'\n') {
            Some(end) => &rest[..=end],
            None if self.open > 0 => return Poll::Pending,
            None if rest.is_empty() => return Poll::Ready(None),
            None => rest,
        };
        let text = String::from_utf8_lossy(line).trim_end().to_owned();
        Poll::Ready(Some((text, read.max(*dropped) + line.len())))
    }
}

impl Output {
    /// The latest of it.
    pub fn printed(&self) -> Printed {
        self.lock().printed.clone()
    }

    /// The same output, whose next line is not printed yet.
    pub(super) fn behind(&self) -> Self {
        Self {
            read: self.printed().total(),
            ..self.clone()
        }
    }

    /// The same as text.
    pub fn text(&self) -> String {
        self.printed().text()
    }

    /// Waits until `find` returns something for the text so far, without a last line that
    /// goes on.
    ///
    /// # Errors
    ///
    /// With the text, if that has ended or `limit` is over.
    pub fn find<T>(&self, limit: Duration, find: impl Fn(&str) -> Option<T>) -> Result<T, String> {
        let found = self.wait(limit, |state| {
            let text = state.printed.text();
            let lines = match state.open {
                0 => text.len(),
                _ => text.rfind('\n').map_or(0, |last| last + 1),
            };
            match find(&text[..lines]) {
                Some(found) => Poll::Ready(Ok(found)),
                None if state.open > 0 => Poll::Pending,
                None => Poll::Ready(Err(text)),
            }
        });
        found.unwrap_or_else(|| Err(self.text()))
    }

    /// The whole text, if the program closes it within `limit`.
    ///
    /// # Errors
    ///
    /// With the text so far, if it does not.
    pub fn whole(&self, limit: Duration) -> Result<String, String> {
        let whole = self.wait(limit, |state| match state.open {
            0 => Poll::Ready(state.printed.text()),
            _ => Poll::Pending,
        });
        whole.ok_or_else(|| self.text())
    }

    /// Waits for the next line; none, if the program has closed it, or `limit` is over.
    pub fn line_within(&mut self, limit: Duration) -> Option<String> {
        let line = self.wait(limit, |state| state.line_after(self.read));
        let (line, end) = line??;
        self.read = end;
        Some(line)
    }

    /// Waits for the next line; none, if the program has closed it.
    pub async fn next_line(&mut self) -> Option<String> {
        loop {
            let grown = self.shared.grown_for_tasks.notified();
            let line = self.lock().line_after(self.read);
            if let Poll::Ready(line) = line {
                let (line, end) = line?;
                self.read = end;
                return Some(line);
            }
            grown.await;
        }
    }

    fn wait<T>(&self, limit: Duration, look: impl Fn(&State) -> Poll<T>) -> Option<T> {
        let watch = Stopwatch::start();
        let mut state = self.lock();
        loop {
            if let Poll::Ready(seen) = look(&state) {
                return Some(seen);
            }
            let left = limit.checked_sub(watch.elapsed())?;
            let woken = self.shared.grown.wait_timeout(state, left);
            (state, _) = woken.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Reads a stream in the background, until it ends.
    pub(super) fn keep(&self, stream: Option<impl Read + Send + 'static>) {
        let Some(mut stream) = stream else { return };
        self.change(|state| state.open += 1);
        let output = self.clone();
        std::thread::spawn(move || {
            let mut chunk = [0; 4096];
            while let Ok(length @ 1..) = stream.read(&mut chunk) {
                output.change(|state| state.add(&chunk[..length]));
            }
            output.change(|state| state.open -= 1);
        });
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.lock());
        self.shared.grown.notify_all();
        self.shared.grown_for_tasks.notify_waiters();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        let state = self.shared.state.lock();
        state.unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_long_output_the_end_is_kept() {
        let mut state = State::default();
        state.add(&vec![b'x'; 2 * MAX_OUTPUT_BYTES]);
        state.add(b"the last login");
        let printed = state.printed;
        assert!(printed.text().ends_with("the last login"));
        assert_eq!(printed.text().len(), MAX_OUTPUT_BYTES);
        assert_eq!(printed.total(), 2 * MAX_OUTPUT_BYTES + 14);
    }
}
