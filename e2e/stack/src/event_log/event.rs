//! One event, as the control address serves it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use broker::audit::{self, Step};
use broker::model::LoginId;
use broker::relay::Provenance;
use broker::upstream::Failure;
use contract::{ClientId, Provider, Rule};
use serde::Serialize;

use crate::faults::Fault;
use crate::operation::BrokerOperation;

/// The reporter of an event.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EventSource {
    /// The broker's audit log.
    #[default]
    Audit,
    /// The proxy in front of the broker.
    Proxy,
}

/// An event of the audit log or of the proxy. The fields are the members of its JSON.
#[derive(Debug, Clone, Default, Serialize)]
pub struct LoggedEvent {
    /// The sequence number, from 1; it is never used again.
    pub seq: u64,
    /// The time, in Unix milliseconds.
    pub at: i64,
    /// The reporter.
    pub source: EventSource,
    /// The `X-Request-Id` of the exchange.
    pub request_id: String,
    /// The caller: `browser`, `consumer` or `broker`.
    pub from: &'static str,
    /// The party that was called: `broker`, `google` or `github`.
    pub to: &'static str,
    /// The broker's operation, `POST /v1/token`, or the call to a provider, `POST token`.
    pub operation: String,
    /// The project's `client_id`.
    pub project: Option<String>,
    /// The provider of the login: `google` or `github`, once it is known.
    pub provider: Option<&'static str>,
    /// The id of the login, the same in all its events.
    pub login: Option<String>,
    /// The origin of a browser's visit, as far as its metadata shows it.
    pub provenance: Option<&'static str>,
    /// The HTTP status of the answer; null without one.
    pub status: Option<u16>,
    /// The id of the rule that refused the call, or by which the login failed.
    pub rule: Option<&'static str>,
    /// The refusal in a sentence: the rule as this call broke it.
    pub happened: Option<&'static str>,
    /// The sentence of the rule.
    pub says: Option<&'static str>,
    /// The source of the rule: a section of the specification, or `KIT-CHOICE`.
    pub law: Option<String>,
    /// The rule's advice to an integrator.
    pub advice: Option<&'static str>,
    /// A more specific reason, from a fixed set of phrases.
    pub why: Option<&'static str>,
    /// The duration of a call to a provider, in milliseconds.
    pub took_ms: Option<u64>,
    /// Whether the broker committed anything.
    pub committed: bool,
    /// The steps that it committed.
    pub steps: Vec<&'static str>,
    /// The fault that the proxy injected.
    pub fault: Option<&'static str>,
    /// Whether the call is a resend of a lost one.
    pub resend: bool,
    #[serde(skip)]
    pub(crate) receipt: Receipt,
}

/// Whether the client of a call has received the broker's answer. The events of the call
/// share it, and it becomes true after they were logged.
#[derive(Debug, Clone, Default)]
pub(crate) struct Receipt(Arc<AtomicBool>);

impl Receipt {
    pub(crate) fn set(&self, is_received: bool) {
        self.0.store(is_received, Ordering::Release);
    }

    pub(crate) fn is_received(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

impl LoggedEvent {
    /// Whether the client has got the broker's answer in spite of `fault`, which may have
    /// made it wait too long.
    pub(crate) fn is_delivered(&self, fault: Option<Fault>) -> bool {
        fault.is_none_or(|fault| fault.delivers_answer() && self.receipt.is_received())
    }

    /// The fault that the proxy injected.
    pub(crate) fn fault(&self) -> Option<Fault> {
        self.fault?.parse().ok()
    }

    /// Whether the broker committed `step`.
    pub(crate) fn has_step(&self, step: Step) -> bool {
        self.steps.contains(&step.name())
    }

    /// Whether the broker asks the user for confirmation.
    pub(crate) fn is_question(&self) -> bool {
        let asking = ["GET /login/{handle}", "GET /callback/{provider}"];
        self.status == Some(200) && asking.contains(&self.operation.as_str())
    }

    /// Whether a browser comes back from its provider, or answers the question there.
    pub(crate) fn is_return(&self) -> bool {
        self.operation.ends_with(" /callback/{provider}")
    }

    /// An event of the audit log. [`EventLog::append`](super::EventLog::append) numbers it.
    pub(crate) fn from_audit(event: &audit::Event) -> Self {
        Self {
            at: event.at.0,
            source: EventSource::Audit,
            request_id: event.request_id.clone(),
            from: event.from.name(),
            to: event.to.name(),
            operation: event.operation.clone(),
            project: event.project.as_ref().map(ClientId::to_string),
            provider: event.provider.map(Provider::as_str),
            login: event.login.as_ref().map(|login| login.as_str().to_owned()),
            provenance: event.provenance.map(Provenance::as_str),
            status: event.status,
            rule: event.rule.map(Rule::id),
            happened: event.rule.map(Rule::happened),
            says: event.rule.map(Rule::sentence),
            law: event.rule.map(|rule| rule.source().to_string()),
            advice: event.rule.map(|rule| advice(rule, event.why)),
            why: event.why,
            took_ms: event.took.map(whole_ms),
            committed: event.committed(),
            steps: event.steps.iter().map(|step| step.name()).collect(),
            ..Self::default()
        }
    }

    /// An event of a login without anything special, for tests to change.
    #[cfg(test)]
    pub(crate) fn example(seq: u64, request_id: &str, from: &'static str, operation: &str) -> Self {
        Self {
            seq,
            at: i64::try_from(seq).unwrap() * 10,
            request_id: request_id.to_owned(),
            from,
            to: "broker",
            operation: operation.to_owned(),
            project: Some("demo".to_owned()),
            login: Some("aLogin".to_owned()),
            status: Some(200),
            ..Self::default()
        }
    }
}

/// The advice of a rule, or another one where a new login would fail as well.
fn advice(rule: Rule, why: Option<&'static str>) -> &'static str {
    match why {
        Some(why) if why == Failure::CallbackSuspended.why() => {
            "The registration at the provider is suspended: no user can sign in. Look at the provider's developer settings."
        }
        Some(why) if why == Failure::OwnCredentials.why() => {
            "The registration at the provider has another client_id or client_secret, or is deleted: no user can sign in. Look at the provider's developer settings."
        }
        _ => rule.advice(),
    }
}

/// The proxy's own event about a call: a fault, or a resend.
#[derive(Debug)]
pub(crate) struct ProxyEvent<'a> {
    pub(crate) request_id: &'a str,
    pub(crate) operation: BrokerOperation,
    pub(crate) login: Option<&'a LoginId>,
    /// The status that the client received, if any.
    pub(crate) status: Option<u16>,
    pub(crate) why: &'static str,
    /// The broker's event about the same call.
    pub(crate) audited: Option<&'a LoggedEvent>,
    /// `None` for a resend.
    pub(crate) fault: Option<Fault>,
}

impl ProxyEvent<'_> {
    /// The event with its time, in Unix milliseconds.
    pub(crate) fn at(self, at: i64) -> LoggedEvent {
        let audited = self.audited;
        let steps = audited.map(|event| event.steps.clone()).unwrap_or_default();
        let receipt = audited.map(|event| event.receipt.clone());
        LoggedEvent {
            at,
            source: EventSource::Proxy,
            request_id: self.request_id.to_owned(),
            from: self.operation.caller(),
            to: "broker",
            operation: self.operation.name().to_owned(),
            project: audited.and_then(|event| event.project.clone()),
            provider: audited.and_then(|event| event.provider),
            login: self.login.map(|login| login.as_str().to_owned()),
            status: self.status,
            why: Some(self.why),
            committed: !steps.is_empty(),
            steps,
            fault: self.fault.map(Fault::name),
            resend: self.fault.is_none(),
            receipt: receipt.unwrap_or_default(),
            ..LoggedEvent::default()
        }
    }
}

fn whole_ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
