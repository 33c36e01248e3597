//! One exchange, as the page shows it: what crossed the wire, and what the broker
//! and the wire tell of it.

use std::sync::Arc;

use super::story::Aside;
use super::{layout, words};
use crate::logbook::{Event, Exchange};

/// What is shown of an exchange.
pub(crate) struct View {
    pub(crate) title: String,
    pub(crate) at: String,
    pub(crate) committed: Vec<&'static str>,
    pub(crate) asides: Vec<Remark>,
    /// What crossed the wire; none if it has been forgotten.
    pub(crate) exchange: Option<Exchange>,
}

/// An aside, by the names that the template needs.
pub(crate) struct Remark {
    pub(crate) mood: &'static str,
    pub(crate) aside: Aside,
}

/// The exchange called `request_id`, with what `events` tell of it.
pub(crate) fn view(
    request_id: &str,
    events: &[Arc<Event>],
    exchange: Option<Exchange>,
) -> Option<View> {
    let is_about = |event: &&Arc<Event>| event.request_id == request_id && event.to == "broker";
    let about: Vec<_> = events.iter().filter(is_about).collect();
    let first = about.first()?;
    let asides = about.iter().filter_map(|event| Aside::of(event));
    Some(View {
        title: first.operation.clone(),
        at: words::time_of_day(first.at),
        committed: first.steps.iter().map(|step| words::step(step)).collect(),
        asides: asides.map(Remark::new).collect(),
        exchange,
    })
}

impl Remark {
    pub(crate) fn new(aside: Aside) -> Self {
        let mood = layout::mood(aside.mood);
        Self { mood, aside }
    }
}
