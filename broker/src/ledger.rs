//! What happened and why: one event per operation, each refusal with its rule.
//!
//! An event holds fingerprints, never a secret, a URI or a body. It goes to the
//! log, and to whoever subscribes. Both see the same events in the same order.

use std::fmt;
use std::sync::Arc;

use contract::{ClientId, Rule};

use crate::flows::{Fingerprint, UnixMs};

/// One operation, as it ended.
#[derive(Debug, Clone)]
pub struct Event {
    /// When it ended.
    pub at: UnixMs,
    /// The `X-Request-Id` of its answer.
    pub request_id: String,
    /// Method and route, `POST /v1/token`; never the path as it was sent.
    pub operation: String,
    /// The HTTP status of its answer.
    pub status: u16,
    /// Whose login it was about.
    pub project: Option<ClientId>,
    /// Which login it was about.
    pub login: Option<Fingerprint>,
    /// The rule that refused it, or by which the login failed.
    pub rule: Option<Rule>,
    /// More about that, in fixed words.
    pub why: Option<&'static str>,
    /// Whether a step of it was committed to the store.
    pub committed: bool,
}

/// Somebody who hears of every event.
pub type Subscriber = Arc<dyn Fn(&Event) + Send + Sync>;

/// Writes events to the log, and hands them to its subscribers.
#[derive(Clone, Default)]
pub struct Ledger(Vec<Subscriber>);

impl Ledger {
    /// A ledger that only logs.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same ledger with one more subscriber, which must not block.
    #[must_use]
    pub fn subscribed(mut self, subscriber: Subscriber) -> Self {
        self.0.push(subscriber);
        self
    }

    /// Records one event.
    pub fn record(&self, event: &Event) {
        log(event);
        for subscriber in &self.0 {
            subscriber(event);
        }
    }
}

impl fmt::Debug for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ledger({} subscribers)", self.0.len())
    }
}

fn log(event: &Event) {
    tracing::info!(
        target: "ledger",
        request_id = event.request_id,
        operation = event.operation,
        status = event.status,
        project = event.project.as_ref().map(ClientId::as_str),
        login = event.login.as_ref().map(Fingerprint::as_str),
        rule = event.rule.map(Rule::id),
        rule_says = event.rule.map(Rule::sentence),
        why = event.why,
        committed = event.committed,
    );
}
