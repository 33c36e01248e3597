//! The rows of a login's sequence diagram, computed from its events: messages, committed
//! steps, and notes about refusals and faults. Pure; `layout` places the rows.
//!
//! The events contain what the broker and the proxy saw. What a browser does at the
//! consumer and at the provider is inferred from the calls that follow, and marked so.

mod builder;
mod calls;
mod deadline;
mod meaning;
mod note;
mod redirect;
mod row;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::event_log::LoggedEvent;
use builder::SequenceBuilder;
use deadline::Deadline;

pub(crate) use calls::{CallEvents, CallOrResend, of as calls};
pub(crate) use meaning::{Outcome, outcome};
pub(crate) use redirect::RedirectTarget;
pub(crate) use row::{Arrow, Note, Participant, Row, Style};

/// What a log knows beside the events: the recorded answers, by the `X-Request-Id` of their
/// exchange, as far as they are kept, and the time.
pub(crate) trait Answers {
    /// The target of a redirect.
    fn redirect_target(&self, request_id: &str) -> Option<RedirectTarget>;

    /// A JSON body, masked.
    fn body(&self, request_id: &str) -> Option<Value>;

    /// Whether a fault holds the answer at this moment.
    fn is_held(&self, _request_id: &str) -> bool {
        false
    }

    /// The time until the broker had answered.
    fn took(&self, _request_id: &str) -> Option<Duration> {
        None
    }

    /// The time of the stack, in Unix milliseconds; `None` if the rows are not about now.
    fn now_ms(&self) -> Option<i64> {
        None
    }
}

/// The rows of `events`, which belong to one login.
pub(crate) fn rows(events: &[Arc<LoggedEvent>], answers: &dyn Answers) -> Vec<Row> {
    let mut builder = SequenceBuilder::new(answers, Deadline::of(events));
    for item in calls::of(events) {
        builder.add(&item);
    }
    builder.end();
    builder.rows
}
