//! What happened in a login, as a sequence diagram tells it: who called whom, what
//! was committed, what went wrong. Pure; where it stands on the page is `layout`'s.
//!
//! The events tell what the broker and the wire saw. What a browser does at the
//! consumer and at the provider nobody here sees: it is inferred from the calls
//! that it must have led to, and marked as inferred.

mod aside;
mod calls;
mod teller;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::logbook::Event;
use teller::Teller;

/// Who stands at a lifeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Party {
    Browser,
    Consumer,
    Broker,
    Provider,
}

/// One row of the diagram, from top to bottom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Row {
    Arrow(Arrow),
    /// What the broker's store keeps from here on.
    Committed(Vec<&'static str>),
    Aside(Aside),
    /// Time went by; how much, in words.
    Pause(String),
}

/// Something that one party sends another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Arrow {
    /// The same as long as the event is remembered.
    pub(crate) id: String,
    pub(crate) from: Party,
    pub(crate) to: Party,
    pub(crate) words: String,
    pub(crate) mood: Mood,
    /// Whether it arrives; if not, it breaks off before the other lifeline.
    pub(crate) arrives: bool,
    /// The `X-Request-Id` of the exchange that it is a half of.
    pub(crate) exchange: Option<String>,
}

/// What is to be said about the arrow above.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Aside {
    pub(crate) mood: Mood,
    pub(crate) title: String,
    pub(crate) says: Vec<String>,
    pub(crate) law: Option<String>,
    pub(crate) advice: Option<&'static str>,
}

/// How it is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mood {
    Plain,
    /// Nobody here saw it.
    Inferred,
    /// The broker refused, or the login failed.
    Refused,
    /// The wire did something to it, or it came again.
    Struck,
}

/// Where an answer sends a browser.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Destination {
    Provider,
    Home,
}

/// Tells the story of `events`, which are of one login. `leads_to` knows of an
/// exchange where its answer sends the browser, as far as that is remembered.
pub(crate) fn tell(
    events: &[Arc<Event>],
    leads_to: &dyn Fn(&str) -> Option<Destination>,
) -> Vec<Row> {
    let mut teller = Teller::who_knows(leads_to);
    for item in calls::of(events) {
        teller.goes_on(&item);
    }
    teller.rows
}
