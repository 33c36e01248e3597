//! The notes about refusals, faults and resends.

use super::row::{Note, Style};
use crate::event_log::LoggedEvent;
use crate::inspector::labels;

impl Note {
    /// The note about an event, if it is a fault or a refusal.
    pub(crate) fn of(event: &LoggedEvent) -> Option<Self> {
        match event.fault {
            Some(_) => Some(Self::of_fault(event)),
            None => Self::of_refusal(event),
        }
    }

    /// The note about a visit that is asked for confirmation.
    pub(super) fn of_question(event: &LoggedEvent) -> Option<Self> {
        if !event.is_question() {
            return None;
        }
        let visit = match event.provenance {
            _ if event.is_return() => {
                "The browser has the cookie of the one that began, and looks different or came from another network."
            }
            Some("vouched") => "The visit began on a page of the project, which always asks.",
            Some("foreign") => "The visit began on a page of another site.",
            Some("no_referrer") => "The visit began on a page that sends no Referer.",
            Some("typed") => {
                "The visit began on no page: the address was typed, pasted, or opened by another program."
            }
            Some("embedded") => "The visit came from a part of a page.",
            _ => "The client does not say where the visit began.",
        };
        Some(Self {
            style: Style::Asked,
            title: "? The user is asked whether they started this sign-in".to_owned(),
            sentences: vec![visit.to_owned(), "Continue or Cancel follows.".to_owned()],
            rule: rule_of(event),
            advice: event.advice,
        })
    }

    /// The style and a short text for the list of logins.
    pub(crate) fn short(event: &LoggedEvent) -> Option<(Style, String)> {
        match (event.fault, event.rule) {
            (Some(fault), _) => Some((Style::Faulted, format!("⚡ {fault}"))),
            // A question refuses nothing, and the outcome of a login has a badge of its own.
            (None, Some(rule)) if explains_an_outcome(rule) => None,
            (None, Some(rule)) => Some((Style::Refused, format!("✕ {rule}"))),
            (None, None) => None,
        }
    }

    pub(super) fn of_refusal(event: &LoggedEvent) -> Option<Self> {
        let happened = event.happened?;
        Some(Self {
            style: Style::Refused,
            title: format!("✕ {happened}"),
            sentences: event.why.map(labels::sentence).into_iter().collect(),
            rule: rule_of(event),
            advice: event.advice,
        })
    }

    pub(super) fn of_fault(event: &LoggedEvent) -> Self {
        let committed = if event.committed {
            let steps: Vec<_> = event.steps.iter().map(|step| labels::step(step)).collect();
            format!("The broker had already stored: {}", steps.join(" "))
        } else {
            "The broker had stored nothing.".to_owned()
        };
        let why = event.why.map(labels::sentence);
        Self {
            style: Style::Faulted,
            title: format!("⚡ Fault injected: {}", event.fault.unwrap_or_default()),
            sentences: why.into_iter().chain([committed]).collect(),
            rule: None,
            advice: None,
        }
    }

    pub(super) fn of_resend(event: &LoggedEvent) -> Self {
        Self {
            style: Style::Faulted,
            title: format!("↻ {} is sent again", event.operation),
            sentences: event.why.into_iter().map(labels::sentence).collect(),
            rule: None,
            advice: None,
        }
    }
}

/// Whether a rule is about the login itself, whose outcome is shown, or about a question.
fn explains_an_outcome(rule: &str) -> bool {
    rule.starts_with("upstream.") || rule.starts_with("relay.")
}

/// The rule of an event, with its sentence and its source.
fn rule_of(event: &LoggedEvent) -> Option<String> {
    let (rule, says) = (event.rule?, event.says?);
    let source = labels::source(event.law.as_deref()?);
    Some(format!("{rule}: {says}. Source: {source}."))
}
