//! One exchange, as the page shows it: request and response, with the notes and the
//! committed steps of its events.

use std::sync::Arc;

use super::curl;
use super::labels;
use super::sequence::Note;
use crate::event_log::{Exchange, LoggedEvent};

/// The open exchange of a page.
pub(crate) struct ExchangeView {
    pub(crate) title: String,
    pub(crate) at: String,
    pub(crate) committed: Vec<&'static str>,
    pub(crate) notes: Vec<Note>,
    /// `None` if the exchange is no longer kept.
    pub(crate) exchange: Option<Exchange>,
    pub(crate) request_id: String,
    /// The request as a curl command.
    pub(crate) curl: Option<String>,
}

impl ExchangeView {
    /// The view of the exchange `request_id`; `None` if no event is about it.
    pub(crate) fn new(
        request_id: &str,
        events: &[Arc<LoggedEvent>],
        exchange: Option<Exchange>,
        broker_url: &str,
    ) -> Option<Self> {
        let is_about =
            |event: &&Arc<LoggedEvent>| event.request_id == request_id && event.to == "broker";
        let about: Vec<_> = events.iter().filter(is_about).collect();
        let first = about.first()?;
        Some(Self {
            title: first.operation.clone(),
            at: labels::time_of_day(first.at),
            committed: first.steps.iter().map(|step| labels::step(step)).collect(),
            notes: about.iter().filter_map(|event| Note::of(event)).collect(),
            request_id: request_id.to_owned(),
            curl: exchange
                .as_ref()
                .map(|it| curl::command(&it.request, broker_url)),
            exchange,
        })
    }
}
