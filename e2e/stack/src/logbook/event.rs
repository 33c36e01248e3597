//! One event, as the control address serves it.

use broker::audit;
use broker::model::LoginId;
use broker::relay::Provenance;
use contract::{ClientId, Rule};
use serde::Serialize;

use crate::faults::Fault;
use crate::operation::Operation;

/// Who tells of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The broker's audit.
    AuditLog,
    /// The wire in front of it.
    Wire,
}

/// Something that happened.
#[derive(Debug, Clone, Serialize)]
pub struct Event {
    /// Its place in the sequence; it starts at 1 and never goes back.
    pub seq: u64,
    /// When, in Unix milliseconds.
    pub at: i64,
    /// Who tells of it.
    pub source: Source,
    /// The `X-Request-Id` of the exchange.
    pub request_id: String,
    /// Who called: `browser`, `consumer` or `broker`.
    pub from: &'static str,
    /// Who was called: `broker`, `google` or `github`.
    pub to: &'static str,
    /// `POST /v1/token`; of a provider, what it was asked for: `POST token`.
    pub operation: String,
    /// The project's `client_id`.
    pub project: Option<String>,
    /// What ties the events of one login together.
    pub login: Option<String>,
    /// Where a browser's visit began, as far as it tells.
    pub provenance: Option<&'static str>,
    /// The HTTP status that was answered; null if nothing was.
    pub status: Option<u16>,
    /// The id of the rule that refused it, or by which the login failed.
    pub rule: Option<&'static str>,
    /// The rule's sentence.
    pub says: Option<&'static str>,
    /// Where the rule comes from: a section of the specification, or `KIT-CHOICE`.
    pub law: Option<String>,
    /// What to do about it.
    pub advice: Option<&'static str>,
    /// More about it, in fixed words.
    pub why: Option<&'static str>,
    /// Whether anything was committed.
    pub committed: bool,
    /// The steps that were committed.
    pub steps: Vec<&'static str>,
    /// The fault that the wire struck with.
    pub fault: Option<&'static str>,
    /// Whether it is a call that was lost before and came again.
    pub resend: bool,
}

/// What the audit log tells.
pub(crate) fn of_audit(event: &audit::Event) -> Event {
    let steps: Vec<_> = event.steps.iter().map(|step| step.name()).collect();
    Event {
        seq: 0,
        at: event.at.0,
        source: Source::AuditLog,
        request_id: event.request_id.clone(),
        from: event.from.name(),
        to: event.to.name(),
        operation: event.operation.clone(),
        project: event.project.as_ref().map(ClientId::to_string),
        login: event.login.as_ref().map(|login| login.as_str().to_owned()),
        provenance: event.provenance.map(Provenance::as_str),
        status: event.status,
        rule: event.rule.map(Rule::id),
        says: event.rule.map(Rule::sentence),
        law: event.rule.map(|rule| rule.source().to_string()),
        advice: event.rule.map(Rule::advice),
        why: event.why,
        committed: event.committed(),
        steps,
        fault: None,
        resend: false,
    }
}

/// What the wire has to tell of a call.
#[derive(Debug)]
pub(crate) struct WireEvent<'a> {
    pub(crate) request_id: &'a str,
    pub(crate) operation: Operation,
    pub(crate) login: Option<&'a LoginId>,
    /// What the client was told, if anything.
    pub(crate) status: Option<u16>,
    pub(crate) why: &'static str,
    /// What the broker has told of the same call.
    pub(crate) told: Option<&'a Event>,
    /// None for a call that was lost before and came again.
    pub(crate) fault: Option<Fault>,
}

impl WireEvent<'_> {
    /// The event, as it happened at `at`, in Unix milliseconds.
    pub(crate) fn at(self, at: i64) -> Event {
        let steps = self.told.map(|told| told.steps.clone()).unwrap_or_default();
        Event {
            seq: 0,
            at,
            source: Source::Wire,
            request_id: self.request_id.to_owned(),
            from: self.operation.caller(),
            to: "broker",
            operation: self.operation.name().to_owned(),
            project: self.told.and_then(|told| told.project.clone()),
            login: self.login.map(|login| login.as_str().to_owned()),
            provenance: None,
            status: self.status,
            rule: None,
            says: None,
            law: None,
            advice: None,
            why: Some(self.why),
            committed: !steps.is_empty(),
            steps,
            fault: self.fault.map(Fault::name),
            resend: self.fault.is_none(),
        }
    }
}
