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

    /// The style and a short text for the list of logins.
    pub(crate) fn short(event: &LoggedEvent) -> Option<(Style, String)> {
        match (event.fault, event.rule) {
            (Some(fault), _) => Some((Style::Faulted, format!("⚡ {fault}"))),
            (None, Some(rule)) => Some((Style::Refused, format!("✕ {rule}"))),
            (None, None) => None,
        }
    }

    pub(super) fn of_refusal(event: &LoggedEvent) -> Option<Self> {
        let rule = event.rule?;
        let title = if rule.starts_with("upstream.") {
            format!("✕ The login fails: {rule}")
        } else {
            format!("✕ Refused: {rule}")
        };
        let sentences = event.says.into_iter().chain(event.why);
        Some(Self {
            style: Style::Refused,
            title,
            sentences: sentences.map(labels::sentence).collect(),
            law: event.law.clone(),
            advice: event.advice,
        })
    }

    pub(super) fn of_fault(event: &LoggedEvent) -> Self {
        let committed = if event.committed {
            let steps: Vec<_> = event.steps.iter().map(|step| labels::step(step)).collect();
            format!("Committed all the same: {}", steps.join(" "))
        } else {
            "Nothing was committed.".to_owned()
        };
        let why = event.why.map(labels::sentence);
        Self {
            style: Style::Faulted,
            title: format!("⚡ Fault of the proxy: {}", event.fault.unwrap_or_default()),
            sentences: why.into_iter().chain([committed]).collect(),
            law: None,
            advice: None,
        }
    }

    pub(super) fn of_resend(event: &LoggedEvent) -> Self {
        Self {
            style: Style::Faulted,
            title: format!("↻ {} is sent again", event.operation),
            sentences: event.why.into_iter().map(labels::sentence).collect(),
            law: None,
            advice: None,
        }
    }
}
