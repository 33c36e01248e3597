//! The rows of a login's sequence diagram, computed from its events: messages, committed
//! steps, and notes about refusals and faults. Pure; `layout` places the rows.
//!
//! The events contain what the broker and the proxy saw. What a browser does at the
//! consumer and at the provider is inferred from the calls that follow, and marked so.

mod builder;
mod calls;
mod note;
mod redirect;
mod row;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::event_log::LoggedEvent;
use builder::SequenceBuilder;

pub(crate) use redirect::RedirectTarget;
pub(crate) use row::{Arrow, Note, Participant, Row, Style};

/// The rows of `events`, which belong to one login. `target_of` returns the redirect
/// target of an exchange, as far as the exchange is still kept.
pub(crate) fn rows(
    events: &[Arc<LoggedEvent>],
    target_of: &dyn Fn(&str) -> Option<RedirectTarget>,
) -> Vec<Row> {
    let mut builder = SequenceBuilder::new(target_of);
    for item in calls::of(events) {
        builder.add(&item);
    }
    builder.rows
}
