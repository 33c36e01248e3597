//! The rows of a sequence diagram, and its notes about questions, refusals, faults and resends.

use std::time::Duration;

use crate::compared::Compared;
use crate::event_log::LoggedEvent;
use crate::facts::meaning::Planned;
use crate::facts::{self, Fact, Style};
use crate::labels;

/// A participant, with a lifeline of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Participant {
    Browser,
    Consumer,
    Broker,
    Provider,
}

impl Participant {
    /// The participant with this name in an event.
    pub(crate) fn named(name: &str) -> Self {
        match name {
            "browser" => Self::Browser,
            "consumer" => Self::Consumer,
            "broker" => Self::Broker,
            _ => Self::Provider,
        }
    }
}

/// One row of the diagram.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Row {
    Arrow(Arrow),
    /// The steps that the broker's store committed.
    Committed(Vec<&'static str>),
    Note(Note),
    /// A long time between two calls, as text.
    Pause(String),
    /// The time at which the login expires.
    Expiry(Expiry),
}

/// The end of a login that has no outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Expiry {
    pub(crate) text: String,
    pub(crate) is_over: bool,
}

impl Row {
    pub(crate) fn as_arrow(&self) -> Option<&Arrow> {
        match self {
            Self::Arrow(arrow) => Some(arrow),
            _ => None,
        }
    }

    pub(crate) fn as_arrow_mut(&mut self) -> Option<&mut Arrow> {
        match self {
            Self::Arrow(arrow) => Some(arrow),
            _ => None,
        }
    }
}

/// A message from one participant to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Arrow {
    /// An id that stays the same while the event is kept.
    pub(crate) id: String,
    pub(crate) from: Participant,
    pub(crate) to: Participant,
    pub(crate) label: String,
    /// A second line: the name of the user, or of an error.
    pub(crate) detail: Option<String>,
    /// The meaning of the message, for an audience.
    pub(crate) sentence: &'static str,
    pub(crate) style: Style,
    /// Whether the message arrives; if not, the arrow ends before the other lifeline.
    pub(crate) arrives: bool,
    /// The time until an answer, where it is known.
    pub(crate) took: Option<Duration>,
    /// The id of the message's exchange.
    pub(crate) exchange: Option<String>,
}

impl Arrow {
    /// An arrow that arrives; its maker changes what is special about it.
    pub(crate) fn plain(
        id: String,
        from: Participant,
        to: Participant,
        label: impl Into<String>,
    ) -> Self {
        Self {
            id,
            from,
            to,
            label: label.into(),
            detail: None,
            sentence: "",
            style: Style::Plain,
            arrives: true,
            took: None,
            exchange: None,
        }
    }
}

/// An explanation of the arrow above it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Note {
    pub(crate) style: Style,
    pub(crate) title: String,
    pub(crate) sentences: Vec<String>,
    /// The rule and its source.
    pub(crate) rule: Option<String>,
    pub(crate) advice: Option<&'static str>,
    /// The error by which the login failed.
    pub(crate) error: Option<&'static str>,
    /// The values that were refused.
    pub(crate) compared: Vec<Compared>,
    /// Whether the same is explained above.
    pub(crate) is_repeated: bool,
}

impl Note {
    /// The note about an event, if it is a fault or a refusal.
    pub(crate) fn of(event: &LoggedEvent) -> Option<Self> {
        match event.fault {
            Some(_) => Some(Self::of_fault(event)),
            None => Self::of_refusal(event),
        }
    }

    /// The note about a visit that is asked for confirmation.
    pub(super) fn of_question(event: &LoggedEvent) -> Self {
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
        Self {
            rule: rule_of(event),
            advice: event.advice,
            sentences: vec![visit.to_owned(), "Continue or Cancel follows.".to_owned()],
            ..Self::plain(
                Style::Asked,
                "? The user is asked whether they started this sign-in",
            )
        }
    }

    pub(super) fn of_refusal(event: &LoggedEvent) -> Option<Self> {
        let title = format!("✕ {}", event.happened?);
        Some(Self {
            sentences: event.why.map(labels::sentence).into_iter().collect(),
            rule: rule_of(event),
            advice: event.advice,
            error: facts::error_of(event),
            ..Self::plain(Style::Refused, title)
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
        let texts = Fact::FaultInjected.labels();
        let fault = event.fault.unwrap_or_default();
        Self {
            sentences: why.into_iter().chain([committed]).collect(),
            ..Self::plain(texts.style, format!("⚡ {}: {fault}", texts.label))
        }
    }

    /// The note about a planned misbehaviour of the provider.
    pub(super) fn of_planned((provider, planned): Planned) -> Self {
        let title = format!("⚡ Planned here: {}", planned.name());
        Self::of_end(Style::Faulted, &title, planned.description(provider))
    }

    /// The same note with the values that it is about.
    pub(super) fn beside(self, compared: Vec<Compared>) -> Self {
        Self { compared, ..self }
    }

    /// The same note after it was explained above.
    pub(super) fn again(&self) -> Self {
        let title = format!("{}, as above", self.title);
        Self {
            is_repeated: true,
            ..Self::plain(self.style, title)
        }
    }

    /// The line about the end of a login.
    pub(super) fn of_end(style: Style, title: &str, said: &str) -> Self {
        Self {
            sentences: vec![said.to_owned()],
            ..Self::plain(style, title)
        }
    }

    /// The line about a failed login, with its error.
    pub(super) fn of_failure(error: &str, reason: &str) -> Self {
        Self::of_end(Style::Refused, &format!("✕ Failed: {error}"), reason)
    }

    pub(super) fn of_resend(event: &LoggedEvent) -> Self {
        let texts = Fact::Resent.labels();
        let title = format!("↻ {} {}", event.operation, texts.label);
        Self {
            sentences: event.why.map(labels::sentence).into_iter().collect(),
            ..Self::plain(texts.style, title)
        }
    }

    /// The first sentence.
    pub(crate) fn reason(&self) -> &str {
        self.sentences.first().map_or("", String::as_str)
    }

    fn plain(style: Style, title: impl Into<String>) -> Self {
        Self {
            style,
            title: title.into(),
            sentences: Vec::new(),
            rule: None,
            advice: None,
            error: None,
            compared: Vec::new(),
            is_repeated: false,
        }
    }

    /// The style and a short text for the list of logins.
    pub(super) fn short(event: &LoggedEvent) -> Option<(Style, String)> {
        // A question refuses nothing, and the outcome of a login has a mark of its own.
        let has_mark = |rule: &str| rule.starts_with("upstream.") || rule.starts_with("relay.");
        match (event.fault, event.rule) {
            (Some(fault), _) => Some((Style::Faulted, format!("⚡ {fault}"))),
            (None, Some(rule)) if !has_mark(rule) => Some((Style::Refused, format!("✕ {rule}"))),
            (None, _) => None,
        }
    }
}

/// The rule of an event, with its sentence and its source.
fn rule_of(event: &LoggedEvent) -> Option<String> {
    let (rule, says) = (event.rule?, event.says?);
    let source = labels::source(event.law.as_deref()?);
    Some(format!("{rule}: {says}. Source: {source}."))
}
