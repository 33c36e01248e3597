//! One exchange, as the page shows it: a call to the broker with the notes and the committed
//! steps of its events, or a call of the broker to a provider, as the imitated provider kept
//! it, with its ID token and the checks that a client makes of it.

use std::sync::Arc;

use mock_upstream::{BackendCall, IdTokenCheck, IdTokenReport, Provider};
use serde_json::{Value, json};

use super::curl;
use super::rows::Note;
use crate::compared::Compared;
use crate::event_log::{Exchange, LoggedEvent, Message};
use crate::facts::meaning::Answers as _;
use crate::labels;
use crate::mask;
use crate::runtime::StackRuntime;

/// The open exchange of a page.
#[derive(Default)]
pub(crate) struct ExchangeView {
    pub(crate) title: String,
    pub(crate) at: String,
    pub(crate) committed: Vec<&'static str>,
    pub(crate) notes: Vec<Note>,
    /// `None` if the exchange is no longer kept.
    pub(crate) exchange: Option<Exchange>,
    /// The call that can be sent again: its `X-Request-Id`. The broker's own are not.
    pub(crate) sendable: Option<String>,
    /// The request as a curl command, unless a shell may read its method as more than that.
    pub(crate) curl: Option<String>,
    /// The ID token of a provider's answer.
    pub(crate) id_token: Option<IdTokenView>,
    /// The party that answers: `the broker`, `Google`.
    pub(crate) answered_by: &'static str,
}

/// A decoded ID token, masked.
pub(crate) struct IdTokenView {
    pub(crate) header: String,
    pub(crate) claims: String,
    /// Each check, whether the token passed it, and otherwise the values.
    pub(crate) checks: Vec<(&'static str, bool, Vec<Compared>)>,
}

impl ExchangeView {
    /// The view of the exchange `call` of a page with these events; `None` if no event is
    /// about it.
    pub(crate) fn new(
        runtime: &StackRuntime,
        call: &str,
        events: &[Arc<LoggedEvent>],
    ) -> Option<Self> {
        match provider_event(call, events) {
            Some(event) => Some(Self::of_provider_call(runtime, event, events)),
            None => Self::of_broker_call(runtime, call, events),
        }
    }

    fn of_provider_call(
        runtime: &StackRuntime,
        event: &LoggedEvent,
        events: &[Arc<LoggedEvent>],
    ) -> Self {
        let found = find_provider_call(runtime, event, events);
        let (exchange, id_token) = found.unzip();
        Self {
            title: event.operation.clone(),
            at: labels::time_of_day(event.at),
            exchange,
            id_token: id_token.flatten(),
            answered_by: labels::provider(Some(event.to)),
            ..Self::default()
        }
    }

    fn of_broker_call(
        runtime: &StackRuntime,
        request_id: &str,
        events: &[Arc<LoggedEvent>],
    ) -> Option<Self> {
        let is_about =
            |event: &&Arc<LoggedEvent>| event.request_id == request_id && event.to == "broker";
        let about: Vec<_> = events.iter().filter(is_about).collect();
        let first = about.first()?;
        let exchange = runtime.event_log().exchange(request_id);
        let command = |it: &Exchange| curl::command(&it.request, &runtime.urls.broker);
        Some(Self {
            title: first.operation.clone(),
            at: labels::time_of_day(first.at),
            committed: first.steps.iter().map(|step| labels::step(step)).collect(),
            notes: about
                .iter()
                .filter_map(|event| Some(Note::of(event)?.beside(runtime.compared(event))))
                .collect(),
            sendable: Some(request_id.to_owned()),
            curl: exchange.as_ref().and_then(command),
            exchange,
            answered_by: "the broker",
            ..Self::default()
        })
    }
}

/// The event of the call to a provider with this id, among the events of one login.
fn provider_event<'e>(id: &str, events: &'e [Arc<LoggedEvent>]) -> Option<&'e LoggedEvent> {
    let seq: u64 = id.strip_prefix('p')?.parse().ok()?;
    let event = events.iter().find(|event| event.seq == seq)?;
    (event.to != "broker").then_some(event)
}

/// The exchange of `event`, one of `events`, and its ID token; `None` if it is not kept.
fn find_provider_call(
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
    Some((provider_exchange(event, &call), id_token))
}

/// Whether `operation`, `POST token`, is the name of this call. The broker names a call by
/// its method and the end of its path.
fn is_call_of(call: &BackendCall, operation: &str) -> bool {
    operation
        .split_once(' ')
        .is_some_and(|(method, name)| call.method == method && call.path.ends_with(name))
}

fn provider_exchange(event: &LoggedEvent, call: &BackendCall) -> Exchange {
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

fn pretty(json: &Value) -> String {
    serde_json::to_string_pretty(json).unwrap_or_default()
}

impl IdTokenView {
    fn new(report: &IdTokenReport) -> Self {
        let checks = report.checks.iter();
        Self {
            header: pretty(&mask::provider_answer(&report.header)),
            claims: pretty(&mask::provider_answer(&report.claims)),
            checks: checks
                .map(|it| {
                    let compared = compared(it, &report.claims).into_iter().collect();
                    (it.requirement, it.passed, compared)
                })
                .collect(),
        }
    }
}

/// The value that fails a check, beside the one that is expected.
fn compared(check: &IdTokenCheck, claims: &Value) -> Option<Compared> {
    let (claim, expected) = check.expected.as_ref().filter(|_| !check.passed)?;
    let shown = |value: &Value| {
        let masked = mask::provider_answer(&json!({ *claim: value }));
        let text = masked[claim].as_str().map(str::to_owned);
        text.unwrap_or_else(|| masked[claim].to_string())
    };
    let received = shown(&claims[claim]);
    Some(Compared::new(claim, &received, &[shown(expected)]))
}
