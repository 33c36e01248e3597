//! What is to be said about a refusal, a fault, a call that comes again.

use super::{Aside, Mood};
use crate::inspector::words;
use crate::logbook::Event;

impl Aside {
    /// What there is to say about an event.
    pub(crate) fn of(event: &Event) -> Option<Self> {
        match event.fault {
            Some(_) => Some(Self::of_fault(event)),
            None => Self::of_refusal(event),
        }
    }

    /// A word for a list.
    pub(crate) fn in_short(event: &Event) -> Option<(Mood, String)> {
        match (event.fault, event.rule) {
            (Some(fault), _) => Some((Mood::Struck, format!("⚡ {fault}"))),
            (None, Some(rule)) => Some((Mood::Refused, format!("✕ {rule}"))),
            (None, None) => None,
        }
    }

    pub(super) fn of_refusal(told: &Event) -> Option<Self> {
        let rule = told.rule?;
        let title = if rule.starts_with("upstream.") {
            format!("✕ The login fails: {rule}")
        } else {
            format!("✕ Refused: {rule}")
        };
        let says = told.says.into_iter().chain(told.why);
        Some(Self {
            mood: Mood::Refused,
            title,
            says: says.map(words::sentence).collect(),
            law: told.law.clone(),
            advice: told.advice,
        })
    }

    pub(super) fn of_fault(fault: &Event) -> Self {
        let committed = if fault.committed {
            let steps = fault.steps.iter().map(|step| words::step(step));
            let steps: Vec<_> = steps.collect();
            format!("Committed all the same: {}", steps.join(" "))
        } else {
            "Nothing was committed.".to_owned()
        };
        Self {
            mood: Mood::Struck,
            title: format!("⚡ The wire strikes: {}", fault.fault.unwrap_or_default()),
            says: fault
                .why
                .map(words::sentence)
                .into_iter()
                .chain([committed])
                .collect(),
            law: None,
            advice: None,
        }
    }

    pub(super) fn of_resend(again: &Event) -> Self {
        Self {
            mood: Mood::Struck,
            title: format!("↻ {} comes again", again.operation),
            says: again.why.into_iter().map(words::sentence).collect(),
            law: None,
            advice: None,
        }
    }
}
