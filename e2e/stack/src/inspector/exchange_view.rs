//! One exchange, as the page shows it: request and response, with the notes and the
//! committed steps of its events.

use std::sync::Arc;

use super::curl;
use super::labels;
use super::provider_exchange::{self, IdTokenView};
use super::sequence::Note;
use crate::event_log::{Exchange, LoggedEvent};
use crate::runtime::StackRuntime;

/// The open exchange of a page.
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

impl ExchangeView {
    /// The view of the exchange `call` of a page with these events; `None` if no event is
    /// about it.
    pub(crate) fn new(
        runtime: &StackRuntime,
        call: &str,
        events: &[Arc<LoggedEvent>],
    ) -> Option<Self> {
        match provider_exchange::event(call, events) {
            Some(event) => Some(Self::of_provider_call(runtime, event, events)),
            None => Self::of_broker_call(runtime, call, events),
        }
    }

    fn of_provider_call(
        runtime: &StackRuntime,
        event: &LoggedEvent,
        events: &[Arc<LoggedEvent>],
    ) -> Self {
        let found = provider_exchange::find(runtime, event, events);
        let (exchange, id_token) = found.unzip();
        Self {
            title: event.operation.clone(),
            at: labels::time_of_day(event.at),
            committed: Vec::new(),
            notes: Vec::new(),
            exchange,
            sendable: None,
            curl: None,
            id_token: id_token.flatten(),
            answered_by: labels::provider(Some(event.to)),
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
            notes: about.iter().filter_map(|event| Note::of(event)).collect(),
            sendable: Some(request_id.to_owned()),
            curl: exchange.as_ref().and_then(command),
            exchange,
            id_token: None,
            answered_by: "the broker",
        })
    }
}
