//! The events of a login, grouped by call.

use std::sync::Arc;

use crate::event_log::{EventSource, LoggedEvent};
use crate::facts::Call;
use crate::faults::Fault;

/// A call, or a resend, in the order of their first events.
pub(crate) enum CallOrResend<'e> {
    Call(CallEvents<'e>),
    /// A lost call is sent again.
    Resend(&'e LoggedEvent),
}

/// The events of one call of a browser or a backend, as far as it has come.
pub(crate) struct CallEvents<'e> {
    pub(crate) request_id: &'e str,
    /// The sequence number of the first event.
    seq: u64,
    started_at: i64,
    /// The broker's calls to the provider during this call.
    pub(crate) provider_calls: Vec<&'e LoggedEvent>,
    /// The broker's event about the call, once it has answered.
    pub(crate) answered: Option<&'e LoggedEvent>,
    /// The proxy's event about its fault.
    pub(crate) faulted: Option<&'e LoggedEvent>,
}

/// The calls and resends in `events`.
pub(crate) fn of(events: &[Arc<LoggedEvent>]) -> Vec<CallOrResend<'_>> {
    let mut items: Vec<CallOrResend> = Vec::new();
    for event in events {
        if event.resend {
            items.push(CallOrResend::Resend(event));
            continue;
        }
        let same = items.iter_mut().rev().find_map(|item| match item {
            CallOrResend::Call(call) if call.request_id == event.request_id => Some(call),
            _ => None,
        });
        match same {
            Some(call) => call.add(event),
            None => items.push(CallOrResend::Call(CallEvents::new(event))),
        }
    }
    items
}

impl<'e> CallEvents<'e> {
    fn new(first: &'e LoggedEvent) -> Self {
        let mut call = Self {
            request_id: &first.request_id,
            seq: first.seq,
            started_at: first.at,
            provider_calls: Vec::new(),
            answered: None,
            faulted: None,
        };
        call.add(first);
        call
    }

    fn add(&mut self, event: &'e LoggedEvent) {
        match event.source {
            EventSource::Proxy => self.faulted = Some(event),
            EventSource::Audit if event.to == "broker" => self.answered = Some(event),
            EventSource::Audit => self.provider_calls.push(event),
        }
    }

    /// An id that stays the same while the call goes on.
    pub(crate) fn id(&self) -> String {
        format!("c{}", self.seq)
    }

    pub(crate) fn call(&self) -> Option<Call> {
        self.answered.or(self.faulted).map(Call::of)
    }

    pub(crate) fn fault(&self) -> Option<Fault> {
        self.faulted.and_then(LoggedEvent::fault)
    }

    pub(crate) fn started_at(&self) -> i64 {
        self.started_at
    }

    pub(crate) fn ended_at(&self) -> i64 {
        let last = self.faulted.or(self.answered);
        let last = last.or(self.provider_calls.last().copied());
        last.map_or(self.started_at, |event| event.at)
    }
}
