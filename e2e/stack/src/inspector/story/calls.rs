//! Events by the calls that they tell of.

use std::sync::Arc;

use crate::logbook::{Event, Source};

/// One after the other, as they began.
pub(super) enum Item<'e> {
    Call(Call<'e>),
    /// A call that was lost before comes again.
    Resend(&'e Event),
}

/// A call of a browser or a backend, as far as it has come.
pub(super) struct Call<'e> {
    request_id: &'e str,
    /// The place of its first event in the sequence.
    seq: u64,
    began_at: i64,
    /// What the broker asked the provider meanwhile.
    pub(super) asked: Vec<&'e Event>,
    /// What the broker tells of it, once it has ended.
    pub(super) told: Option<&'e Event>,
    /// What the wire did to it.
    pub(super) struck: Option<&'e Event>,
}

/// The calls that `events` tell of.
pub(super) fn of(events: &[Arc<Event>]) -> Vec<Item<'_>> {
    let mut items: Vec<Item> = Vec::new();
    for event in events {
        if event.resend {
            items.push(Item::Resend(event));
            continue;
        }
        let same = items.iter_mut().rev().find_map(|item| match item {
            Item::Call(call) if call.request_id == event.request_id => Some(call),
            _ => None,
        });
        match same {
            Some(call) => call.add(event),
            None => items.push(Item::Call(Call::begun_by(event))),
        }
    }
    items
}

impl<'e> Call<'e> {
    fn begun_by(event: &'e Event) -> Self {
        let mut call = Self {
            request_id: &event.request_id,
            seq: event.seq,
            began_at: event.at,
            asked: Vec::new(),
            told: None,
            struck: None,
        };
        call.add(event);
        call
    }

    fn add(&mut self, event: &'e Event) {
        match event.source {
            Source::Wire => self.struck = Some(event),
            Source::AuditLog if event.to == "broker" => self.told = Some(event),
            Source::AuditLog => self.asked.push(event),
        }
    }

    /// A name for it that stays while it goes on.
    pub(super) fn id(&self) -> String {
        format!("c{}", self.seq)
    }

    pub(super) fn operation(&self) -> Option<&'e str> {
        let event = self.told.or(self.struck)?;
        Some(&event.operation)
    }

    pub(super) fn began_at(&self) -> i64 {
        self.began_at
    }

    pub(super) fn ended_at(&self) -> i64 {
        let last = self.struck.or(self.told).or(self.asked.last().copied());
        last.map_or(self.began_at, |event| event.at)
    }
}
