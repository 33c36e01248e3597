//! What happened, in one sequence: what the broker's audit log tells, and what the
//! wire did to it. Bounded; nothing that it tells leads back to a secret.

mod event;
mod exchange;
mod kept;
mod mask;
#[cfg(test)]
mod tests;
mod ties;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::broadcast;

pub use event::{Event, Source};
pub(crate) use event::{WireEvent, of_audit};
pub(crate) use exchange::{Crossing, Heard, Said};
pub use exchange::{Exchange, Message};
pub(crate) use ties::{Secret, Ties};

/// How many events are remembered: some thousand logins.
pub const MOST_EVENTS: usize = 20_000;

/// How many exchanges are remembered.
pub const MOST_EXCHANGES: usize = 4_000;

/// The bytes of all remembered exchanges together.
pub const MOST_EXCHANGE_BYTES: usize = 16 * 1024 * 1024;

/// How many events a subscriber may be behind before it misses some.
const BEHIND: usize = 4_096;

/// What happened in this world.
#[derive(Debug)]
pub struct Logbook {
    pages: Mutex<Pages>,
    news: broadcast::Sender<Arc<Event>>,
    ties: Ties,
}

#[derive(Debug, Default)]
struct Pages {
    last_seq: u64,
    events: VecDeque<Arc<Event>>,
    exchanges: VecDeque<Arc<Crossing>>,
    /// The bytes that the exchanges hold.
    exchange_bytes: usize,
}

impl Default for Logbook {
    fn default() -> Self {
        Self {
            pages: Mutex::default(),
            news: broadcast::Sender::new(BEHIND),
            ties: Ties::default(),
        }
    }
}

impl Logbook {
    /// The events after the one with the sequence number `after`, oldest first; of
    /// one login, if one is named.
    pub fn events(&self, after: u64, login: Option<&str>) -> Vec<Arc<Event>> {
        let pages = self.pages();
        let is_asked_for = |event: &&Arc<Event>| {
            event.seq > after && (login.is_none() || event.login.as_deref() == login)
        };
        pages.events.iter().filter(is_asked_for).cloned().collect()
    }

    /// Hears of every event from now on.
    pub fn subscribe(&self) -> broadcast::Receiver<Arc<Event>> {
        self.news.subscribe()
    }

    /// What crossed the wire in the exchange with this `X-Request-Id`, masked.
    pub fn exchange(&self, request_id: &str) -> Option<Exchange> {
        self.crossing(request_id).map(|crossing| crossing.masked())
    }

    /// The address that the answer of that exchange sends a browser to, masked.
    pub(crate) fn location(&self, request_id: &str) -> Option<String> {
        self.crossing(request_id)?.location()
    }

    fn crossing(&self, request_id: &str) -> Option<Arc<Crossing>> {
        let pages = self.pages();
        let mut newest_first = pages.exchanges.iter().rev();
        newest_first.find(|it| it.request_id == request_id).cloned()
    }

    /// The last `most` logins of which something was heard, the latest first.
    pub fn logins(&self, most: usize) -> Vec<String> {
        let mut seen = Vec::new();
        for event in self.pages().events.iter().rev() {
            match &event.login {
                Some(_) if seen.len() == most => break,
                Some(login) if !seen.contains(login) => seen.push(login.clone()),
                _ => {}
            }
        }
        seen
    }

    pub(crate) fn ties(&self) -> &Ties {
        &self.ties
    }

    /// Writes an event down under the next sequence number.
    pub(crate) fn write(&self, mut event: Event) {
        let mut pages = self.pages();
        pages.last_seq += 1;
        event.seq = pages.last_seq;
        let event = Arc::new(event);
        if pages.events.len() == MOST_EVENTS {
            pages.events.pop_front();
        }
        pages.events.push_back(event.clone());
        // Under the lock, so that everybody hears the same order.
        let _ = self.news.send(event);
    }

    pub(crate) fn keep(&self, crossing: Crossing) {
        let mut pages = self.pages();
        pages.exchange_bytes += crossing.bytes_held();
        pages.exchanges.push_back(Arc::new(crossing));
        while pages.exchanges.len() > MOST_EXCHANGES || pages.exchange_bytes > MOST_EXCHANGE_BYTES {
            let Some(oldest) = pages.exchanges.pop_front() else {
                break;
            };
            pages.exchange_bytes -= oldest.bytes_held();
        }
    }

    /// The bytes of exchanges that are remembered: at most [`MOST_EXCHANGE_BYTES`].
    pub fn bytes_held(&self) -> usize {
        self.pages().exchange_bytes
    }

    /// What the broker itself told of the exchange with this `X-Request-Id`.
    pub(crate) fn told_by_broker(&self, request_id: &str) -> Option<Arc<Event>> {
        let pages = self.pages();
        let mut newest_first = pages.events.iter().rev();
        newest_first
            .find(|event| event.request_id == request_id && event.to == "broker")
            .cloned()
    }

    /// Forgets everything but how far the sequence has come.
    pub(crate) fn clear(&self) {
        let mut pages = self.pages();
        pages.events.clear();
        pages.exchanges.clear();
        pages.exchange_bytes = 0;
        self.ties.clear();
    }

    fn pages(&self) -> MutexGuard<'_, Pages> {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
