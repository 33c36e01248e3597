//! One call of the broker to a provider, as the imitated provider kept it, with its ID token
//! and the checks that a client makes of it.

use std::sync::Arc;

use mock_upstream::{BackendCall, IdTokenReport, Provider};

use super::labels;
use crate::event_log::{Exchange, LoggedEvent, Message};
use crate::mask;
use crate::runtime::StackRuntime;

/// A decoded ID token, masked.
pub(crate) struct IdTokenView {
    pub(crate) header: String,
    pub(crate) claims: String,
    /// Each check, and whether the token passed it.
    pub(crate) checks: Vec<(&'static str, bool)>,
}

/// The calls for documents that are the same for every login.
const SHARED: [&str; 2] = ["GET discovery", "GET keys"];

/// The id by which a page names the exchange of a call to a provider; `None` of a call that
/// belongs to no login alone.
pub(super) fn id_of(event: &LoggedEvent) -> Option<String> {
    let is_shared = SHARED.contains(&event.operation.as_str());
    (!is_shared).then(|| format!("p{}", event.seq))
}

/// The event of the call to a provider with this id, among the events of one login.
pub(super) fn event<'e>(id: &str, events: &'e [Arc<LoggedEvent>]) -> Option<&'e LoggedEvent> {
    let seq: u64 = id.strip_prefix('p')?.parse().ok()?;
    let event = events.iter().find(|event| event.seq == seq)?;
    (event.to != "broker").then_some(event)
}

/// The exchange of `event`, one of `events`, and its ID token; `None` if it is not kept.
pub(super) fn find(
    runtime: &StackRuntime,
    event: &LoggedEvent,
    events: &[Arc<LoggedEvent>],
) -> Option<(Exchange, Option<IdTokenView>)> {
    let provider: Provider = event.to.parse().ok()?;
    let is_same = |other: &&Arc<LoggedEvent>| {
        other.to == event.to && other.operation == event.operation && other.seq < event.seq
    };
    let before = events.iter().filter(is_same).count();
    let secrets = runtime.event_log().secrets();
    let is_its = |call: &Arc<BackendCall>| {
        let owner = secrets.owner_of(&call.state);
        let login = owner.and_then(|owner| owner.login);
        login.is_some_and(|login| Some(login.as_str()) == event.login.as_deref())
            && is_call_of(call, &event.operation)
    };
    let calls = runtime.upstream.provider(provider).backend_calls();
    let call = calls.into_iter().filter(is_its).nth(before)?;
    let id_token = call.id_token.as_ref().map(IdTokenView::new);
    Some((exchange(event, &call), id_token))
}

/// Whether `operation`, `POST token`, is the name of this call. The broker names a call by
/// its method and the end of its path.
fn is_call_of(call: &BackendCall, operation: &str) -> bool {
    operation
        .split_once(' ')
        .is_some_and(|(method, name)| call.method == method && call.path.ends_with(name))
}

fn exchange(event: &LoggedEvent, call: &BackendCall) -> Exchange {
    let message = |start, body| Message {
        start,
        headers: Vec::new(),
        body,
    };
    let fields = call.fields.as_object().filter(|it| !it.is_empty());
    let fields = fields.map(|_| pretty(&mask::request(&call.fields, None)));
    let answer = call.answer.as_ref().map(mask::provider_answer);
    let status = call.status.map(labels::status);
    Exchange {
        request_id: event.request_id.clone(),
        request: message(format!("{} {}", call.method, call.path), fields),
        answer: status.map(|status| message(status, answer.as_ref().map(pretty))),
        fault: None,
    }
}

fn pretty(json: &serde_json::Value) -> String {
    serde_json::to_string_pretty(json).unwrap_or_default()
}

impl IdTokenView {
    fn new(report: &IdTokenReport) -> Self {
        let checks = report.checks.iter();
        Self {
            header: pretty(&mask::provider_answer(&report.header)),
            claims: pretty(&mask::provider_answer(&report.claims)),
            checks: checks.map(|it| (it.requirement, it.passed)).collect(),
        }
    }
}
