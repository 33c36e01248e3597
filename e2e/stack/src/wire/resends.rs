//! Calls that were lost and come again.
//!
//! A browser, or curl, silently sends a request once more when a connection that
//! it had used before closes without an answer. An application that does so with a
//! one-time call makes a mistake. Both look alike but for the connection.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use contract::Digest;

/// How many lost calls are waited for.
const MOST: usize = 256;

/// The calls that were lost.
#[derive(Debug, Default)]
pub(super) struct Resends(Mutex<VecDeque<Lost>>);

#[derive(Debug)]
struct Lost {
    call: Digest,
    was_reused: bool,
}

impl Resends {
    /// Waits for `call`, which was lost on a connection that had, or had not,
    /// served another before.
    pub(super) fn lost(&self, call: Digest, was_reused: bool) {
        let mut lost = self.lock();
        if lost.len() == MOST {
            lost.pop_front();
        }
        lost.push_back(Lost { call, was_reused });
    }

    /// If `call` was lost before, who most likely sends it again.
    pub(super) fn again(&self, call: Digest) -> Option<&'static str> {
        let mut lost = self.lock();
        let place = lost.iter().position(|lost| lost.call == call)?;
        Some(if lost.remove(place)?.was_reused {
            "the same call again, after its connection, which had served others, closed \
             without an answer: browsers, curl and some HTTP libraries do so by themselves"
        } else {
            "the same call again, after its first connection closed without an answer: \
             the application repeats it, which no one-time call may be"
        })
    }

    pub(super) fn clear(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Lost>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
