//! The calls of one login, assembled from its events.

use serde::Serialize;

use crate::event_log::LoggedEvent;

/// A call of a browser or a backend. The fields are the members of its JSON.
#[derive(Debug, Clone, Serialize)]
pub struct LoginCall {
    /// The sequence number of the call's first event.
    pub seq: u64,
    /// The time of that event, in Unix milliseconds.
    pub at: i64,
    /// The `X-Request-Id` of the exchange.
    pub request_id: String,
    /// The operation: `POST /v1/login/result`.
    pub operation: String,
    /// The broker's status; null if it never saw the call.
    pub status: Option<u16>,
    /// The rule that refused the call.
    pub rule: Option<&'static str>,
    /// Whether the broker committed anything.
    pub committed: bool,
    /// The steps that it committed.
    pub steps: Vec<&'static str>,
    /// The fault that the proxy injected.
    pub fault: Option<&'static str>,
    /// Whether the last byte of the broker's answer went to a client that was still there.
    #[serde(rename = "heard")]
    pub is_received: bool,
}

/// The calls in `events`, each with its fault.
pub(super) fn of(events: &[&LoggedEvent]) -> Vec<LoginCall> {
    let mut calls: Vec<LoginCall> = Vec::new();
    let is_call = |event: &&&LoggedEvent| event.to == "broker" && !event.resend;
    for event in events.iter().filter(is_call) {
        let known = calls
            .iter_mut()
            .find(|call| call.request_id == event.request_id);
        match known {
            Some(call) => call.fault = event.fault,
            None => calls.push(LoginCall::new(event)),
        }
    }
    calls
}

impl LoginCall {
    fn new(event: &LoggedEvent) -> Self {
        Self {
            seq: event.seq,
            at: event.at,
            request_id: event.request_id.clone(),
            operation: event.operation.clone(),
            status: event.status,
            rule: event.rule,
            committed: event.committed,
            steps: event.steps.clone(),
            fault: event.fault,
            is_received: event.receipt.is_received(),
        }
    }
}
