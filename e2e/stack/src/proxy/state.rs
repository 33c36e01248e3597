//! The state that a proxy shares with the control address; and the lost calls that clients
//! send again.
//!
//! A browser, or curl, silently repeats a request when a reused connection closes
//! without an answer. An application that repeats a one-time call itself makes a mistake.
//! The two differ only in whether the connection had served a call before. A client that
//! stops to wait for an answer has lost its call too, and repeats it only on purpose.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use contract::Digest;

use crate::event_log::{EventLog, ProxyEvent};
use crate::faults::Faults;
use crate::time::StackClock;

/// The faults, event log and clock of a proxy. They survive a reset of the stack, which
/// clears them.
#[derive(Debug, Default)]
pub struct ProxyState {
    /// The armed faults.
    pub faults: Faults,
    /// The log of every event and exchange.
    pub event_log: EventLog,
    /// The time of the proxy's events.
    pub clock: StackClock,
    pub(super) resends: Resends,
}

impl ProxyState {
    pub(crate) fn new(clock: StackClock) -> Self {
        Self {
            clock,
            ..Self::default()
        }
    }

    /// Disarms all faults and forgets all events and lost calls.
    pub(crate) fn clear(&self) {
        self.faults.clear();
        self.event_log.clear();
        self.resends.clear();
    }

    pub(super) fn record(&self, event: ProxyEvent<'_>) {
        self.event_log.append(event.at(self.clock.now_ms()));
    }
}

/// The number of lost calls that are remembered.
const MAX_LOST: usize = 256;

/// The calls whose answers were lost.
#[derive(Debug, Default)]
pub(super) struct Resends(Mutex<VecDeque<LostCall>>);

#[derive(Debug)]
struct LostCall {
    digest: Digest,
    was_reused: bool,
}

impl Resends {
    /// Remembers a lost call, and whether its connection had served another before.
    pub(super) fn lost(&self, digest: Digest, was_reused: bool) {
        let mut lost = self.lock();
        if lost.len() == MAX_LOST {
            lost.pop_front();
        }
        lost.push_back(LostCall { digest, was_reused });
    }

    /// Forgets a lost call: its client has received the answer after all.
    pub(super) fn forget(&self, digest: Digest) {
        self.lock().retain(|lost| lost.digest != digest);
    }

    /// The most likely cause of this resend; `None` if the call was not lost before.
    pub(super) fn explain(&self, digest: Digest) -> Option<&'static str> {
        let mut lost = self.lock();
        let position = lost.iter().position(|lost| lost.digest == digest)?;
        Some(if lost.remove(position)?.was_reused {
            "the same call again, after its reused connection closed without an answer: \
             browsers, curl and some HTTP libraries do so by themselves"
        } else {
            "the same call again, after its first connection closed without an answer: \
             the application repeats it, which no one-time call allows"
        })
    }

    pub(super) fn clear(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<LostCall>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
