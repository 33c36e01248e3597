//! The rows of a sequence diagram.

use std::time::Duration;

/// A participant, with a lifeline of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Participant {
    Browser,
    Consumer,
    Broker,
    Provider,
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
    /// The time at which the login expires, as text.
    Expiry(String),
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
    pub(crate) style: Style,
    /// Whether the message arrives; if not, the arrow ends before the other lifeline.
    pub(crate) arrives: bool,
    /// The time until an answer, where it is known.
    pub(crate) took: Option<Duration>,
    /// The `X-Request-Id` of the message's exchange.
    pub(crate) exchange: Option<String>,
}

#[cfg(test)]
impl Arrow {
    /// A plain arrow; each test changes what it is about.
    pub(crate) fn example(from: Participant, to: Participant, label: &str) -> Self {
        Self {
            id: "c1-request".to_owned(),
            from,
            to,
            label: label.to_owned(),
            detail: None,
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
}

/// The style in which a row is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    Plain,
    /// Inferred from later calls, because neither broker nor proxy sees it.
    Inferred,
    /// The user is asked for confirmation.
    Asked,
    /// The user is signed in.
    Succeeded,
    /// Refused by the broker, or a login that failed.
    Refused,
    /// Changed by a fault, or a resend.
    Faulted,
}

impl Style {
    /// The CSS class.
    pub(crate) fn class(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Inferred => "inferred",
            Self::Asked => "asked",
            Self::Succeeded => "succeeded",
            Self::Refused => "refused",
            Self::Faulted => "faulted",
        }
    }
}
