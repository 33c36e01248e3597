//! The events of the broker's audit log and of the proxy, in one sequence, and the
//! exchanges behind them. Everything is bounded, and readers only see masked secrets.

mod event;
mod exchange;
mod secret_index;
#[cfg(test)]
pub(crate) mod tests;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use contract::Digest;
use hyper::Request;
use hyper::body::Bytes;
use serde_json::Value;
use tokio::sync::broadcast;

pub use event::{EventSource, LoggedEvent};
pub(crate) use event::{ProxyEvent, Receipt};
pub use exchange::{Exchange, Message};
pub(crate) use exchange::{RecordedExchange, RecordedRequest, RecordedResponse};
pub(crate) use secret_index::{SecretIndex, SecretKind};

/// The number of events that are kept: those of some thousand logins.
pub const MAX_EVENTS: usize = 20_000;

/// The number of exchanges that are kept.
pub const MAX_EXCHANGES: usize = 4_000;

/// The total size of the exchanges that are kept.
pub const MAX_EXCHANGE_BYTES: usize = 16 * 1024 * 1024;

/// The number of events that a subscriber may lag behind before it misses some.
const MAX_LAG: usize = 4_096;

/// The events and exchanges since the start, or since the last reset.
#[derive(Debug)]
pub struct EventLog {
    log: Mutex<Log>,
    subscribers: broadcast::Sender<Arc<LoggedEvent>>,
    secrets: SecretIndex,
}

#[derive(Debug)]
struct Log {
    last_seq: u64,
    run: String,
    events: VecDeque<Arc<LoggedEvent>>,
    exchanges: VecDeque<Arc<RecordedExchange>>,
    exchange_bytes: usize,
}

impl Default for Log {
    fn default() -> Self {
        Self {
            last_seq: 0,
            run: new_run(),
            events: VecDeque::new(),
            exchanges: VecDeque::new(),
            exchange_bytes: 0,
        }
    }
}

impl Default for EventLog {
    fn default() -> Self {
        Self {
            log: Mutex::default(),
            subscribers: broadcast::Sender::new(MAX_LAG),
            secrets: SecretIndex::default(),
        }
    }
}

impl EventLog {
    /// The events after the sequence number `after`, oldest first, of all logins or of
    /// one.
    pub fn events(&self, after: u64, login: Option<&str>) -> Vec<Arc<LoggedEvent>> {
        let matches = |event: &&Arc<LoggedEvent>| {
            event.seq > after && (login.is_none() || event.login.as_deref() == login)
        };
        self.lock().events.iter().filter(matches).cloned().collect()
    }

    /// The name of the time since the start, or since the last reset.
    pub(crate) fn run(&self) -> String {
        self.lock().run.clone()
    }

    /// The sequence number of the last event; 0 before the first.
    pub(crate) fn last_seq(&self) -> u64 {
        self.lock().last_seq
    }

    /// A receiver of every event from now on.
    pub fn subscribe(&self) -> broadcast::Receiver<Arc<LoggedEvent>> {
        self.subscribers.subscribe()
    }

    /// The exchange with this `X-Request-Id`, masked.
    pub fn exchange(&self, request_id: &str) -> Option<Exchange> {
        self.recorded(request_id).map(|exchange| exchange.masked())
    }

    /// The request of that exchange, with its secrets; `None` unless all of it is kept.
    pub(crate) fn request(&self, request_id: &str) -> Option<Request<Bytes>> {
        self.recorded(request_id)?.request()
    }

    /// The `Location` of that exchange's response, masked.
    pub(crate) fn location(&self, request_id: &str) -> Option<String> {
        self.recorded(request_id)?.location()
    }

    /// The time until the broker had answered in that exchange.
    pub(crate) fn took(&self, request_id: &str) -> Option<Duration> {
        let exchange = self.recorded(request_id)?;
        exchange.response.is_some().then_some(exchange.took)
    }

    /// The JSON body of that exchange's response, masked.
    pub(crate) fn answer_body(&self, request_id: &str) -> Option<Value> {
        self.recorded(request_id)?.answer_body()
    }

    fn recorded(&self, request_id: &str) -> Option<Arc<RecordedExchange>> {
        let log = self.lock();
        let mut newest_first = log.exchanges.iter().rev();
        newest_first.find(|it| it.request_id == request_id).cloned()
    }

    /// The ids of the `limit` logins with the latest events, latest first.
    pub fn logins(&self, limit: usize) -> Vec<String> {
        let mut seen = Vec::new();
        for event in self.lock().events.iter().rev() {
            match &event.login {
                Some(_) if seen.len() == limit => break,
                Some(login) if !seen.contains(login) => seen.push(login.clone()),
                _ => {}
            }
        }
        seen
    }

    pub(crate) fn secrets(&self) -> &SecretIndex {
        &self.secrets
    }

    /// Appends an event under the next sequence number.
    pub(crate) fn append(&self, mut event: LoggedEvent) {
        let mut log = self.lock();
        log.last_seq += 1;
        event.seq = log.last_seq;
        let event = Arc::new(event);
        if log.events.len() == MAX_EVENTS {
            log.events.pop_front();
        }
        log.events.push_back(event.clone());
        // Under the lock, so that every subscriber receives the same order.
        let _ = self.subscribers.send(event);
    }

    /// Keeps an exchange, and drops the oldest ones beyond the limits.
    pub(crate) fn record(&self, exchange: RecordedExchange) {
        let mut log = self.lock();
        log.exchange_bytes += exchange.size_bytes();
        log.exchanges.push_back(Arc::new(exchange));
        while log.exchanges.len() > MAX_EXCHANGES || log.exchange_bytes > MAX_EXCHANGE_BYTES {
            let Some(oldest) = log.exchanges.pop_front() else {
                break;
            };
            log.exchange_bytes -= oldest.size_bytes();
        }
    }

    /// The size of the kept exchanges, at most [`MAX_EXCHANGE_BYTES`].
    pub fn exchange_bytes(&self) -> usize {
        self.lock().exchange_bytes
    }

    /// The broker's own event about the exchange with this `X-Request-Id`.
    pub(crate) fn audited(&self, request_id: &str) -> Option<Arc<LoggedEvent>> {
        let log = self.lock();
        let mut newest_first = log.events.iter().rev();
        newest_first
            .find(|event| event.request_id == request_id && event.to == "broker")
            .cloned()
    }

    /// Forgets everything but the last sequence number.
    pub(crate) fn clear(&self) {
        let mut log = self.lock();
        *log = Log {
            last_seq: log.last_seq,
            ..Log::default()
        };
        self.secrets.clear();
    }

    fn lock(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A new name of a run: random, so that no other stack has had it.
fn new_run() -> String {
    let mut run = Digest::from_bytes(broker::random::bytes32()).to_text();
    run.truncate(8);
    run
}
