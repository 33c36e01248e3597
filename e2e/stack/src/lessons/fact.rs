//! The events since a lesson began, each with what a tick asks about it.

use std::collections::HashSet;
use std::sync::Arc;

use crate::event_log::{EventSource, LoggedEvent};
use crate::inspector::{Answers, Outcome, outcome};

/// An event with its context.
pub(crate) struct Fact<'e> {
    pub(crate) event: &'e LoggedEvent,
    /// The number of its login, in the order of their start, from 1; 0 without one.
    pub(crate) nth: usize,
    /// The end of the login that the app learnt by this answer.
    pub(crate) outcome: Option<Outcome>,
    /// Whether the broker asked the user of this login for confirmation before.
    pub(crate) was_asked: bool,
    /// Whether the attacker of the relay lesson started the login.
    pub(crate) is_attack: bool,
}

/// The facts in `events`, oldest first, and the ids of their logins in the order of their
/// start. A login that began before `events` is left out: the lesson has not seen its start.
pub(super) fn facts<'e>(
    events: &'e [Arc<LoggedEvent>],
    answers: &dyn Answers,
    is_attack: &dyn Fn(&str) -> bool,
) -> (Vec<Fact<'e>>, Vec<&'e str>) {
    let faulted: HashSet<&str> = events
        .iter()
        .filter(|event| event.fault.is_some())
        .map(|event| event.request_id.as_str())
        .collect();
    let mut logins: Vec<&str> = Vec::new();
    let mut asked: HashSet<&str> = HashSet::new();
    let mut facts = Vec::new();
    for event in events {
        let Some(login) = event.login.as_deref() else {
            continue;
        };
        if begins_login(event) && !logins.contains(&login) {
            logins.push(login);
        }
        let Some(index) = logins.iter().position(|known| *known == login) else {
            continue;
        };
        let body = || answers.body(&event.request_id);
        let is_delivered = !faulted.contains(event.request_id.as_str());
        facts.push(Fact {
            event,
            nth: index + 1,
            outcome: match is_delivered && may_have_outcome(event) {
                true => outcome(event, body().as_ref()),
                false => None,
            },
            was_asked: asked.contains(login),
            is_attack: is_attack(login),
        });
        if event.is_question() {
            asked.insert(login);
        }
    }
    (facts, logins)
}

/// Whether a login starts by this event.
fn begins_login(event: &LoggedEvent) -> bool {
    let starts = ["POST /v1/login/session", "GET /authorize"];
    event.to == "broker" && starts.contains(&event.operation.as_str())
}

fn may_have_outcome(event: &LoggedEvent) -> bool {
    event.source == EventSource::Audit && event.from == "consumer"
}

impl Fact<'_> {
    /// Whether the broker answered a call of `operation` with `status`.
    pub(super) fn is(&self, operation: &str, status: u16) -> bool {
        self.event.source == EventSource::Audit
            && self.event.operation == operation
            && self.event.status == Some(status)
    }

    /// Whether the login failed, or the call was refused, by a rule with this id.
    pub(super) fn has_rule(&self, rule: &str) -> bool {
        self.event.rule == Some(rule)
    }
}
