//! A login in plain words, from its events: "we" is the demo, "you" its user.

mod call;

use std::sync::Arc;

use contract::LoginLifetime;
use serde_json::Value;

use crate::event_log::LoggedEvent;
use crate::inspector::labels;
use crate::inspector::{CallEvents, CallOrResend, calls};
use crate::login_status::LoginFlow;
use crate::sources::Place;
use call::CallStory;

/// The number of lines at the beginning and at the end that are shown of a long story.
const MAX_FIRST: usize = 4;
const MAX_LAST: usize = 6;

/// One line of the panel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    text: String,
    /// The number of times that the same happened in a row.
    times: usize,
    pub(super) tone: Tone,
    pub(super) place: Option<Place>,
    /// The path of the arrow at the control address.
    pub(super) arrow: Option<String>,
}

/// The tone of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tone {
    Plain,
    /// The user is signed in.
    Good,
    /// Refused, failed or expired.
    Bad,
    /// Changed by a fault.
    Faulted,
}

/// The body of an answer, by the id of its exchange.
pub(super) type BodyOf<'a> = Box<dyn Fn(&str) -> Option<Value> + 'a>;

/// The input of a story, besides the events.
pub(super) struct Source<'a> {
    /// The path of the page with the diagram.
    pub(super) path: String,
    pub(super) now_ms: i64,
    /// The JSON body of an answer, masked, if it is kept.
    pub(super) body: BodyOf<'a>,
}

/// The lines of one login.
#[derive(Debug, Default)]
pub(super) struct Story {
    lines: Vec<Line>,
    provider: &'static str,
    /// The time at which the login began, while it has no outcome.
    open_since: Option<i64>,
    is_legacy: bool,
    /// The arrow by which the browser left for the provider, while it is there.
    is_at_provider: Option<String>,
}

impl Story {
    /// The story of `events`, which belong to one login.
    pub(super) fn of(events: &[Arc<LoggedEvent>], source: &Source<'_>) -> Self {
        let provider = events.iter().find_map(|event| event.provider);
        let mut story = Self {
            provider: match provider {
                Some(provider) => labels::provider(Some(provider)),
                None => "the provider",
            },
            ..Self::default()
        };
        for item in calls(events) {
            if let CallOrResend::Call(call) = item {
                story.add(&call, source);
            }
        }
        story.add_state(source.now_ms);
        story
    }

    /// The same story, and a visit of the callback for which no login was under way.
    pub(super) fn without_login(mut self, flow: LoginFlow) -> Self {
        let (text, place) = match flow {
            LoginFlow::Clean => (
                "Your browser came to our callback, and no login of this browser was under way here. So we did not call the broker.",
                Place::CallbackSession,
            ),
            LoginFlow::Legacy => (
                "Your browser came to our callback, and the state in the address belongs to no login that is under way in this browser. So we did not call the broker.",
                Place::LegacyConsumeState,
            ),
        };
        self.lines
            .push(Line::new(Tone::Bad, place, text.to_owned()));
        self
    }

    /// The same story, and a start that reached no broker.
    pub(super) fn without_broker(mut self) -> Self {
        let text = "We asked the broker to start a login, and it did not answer. No login has started, so nothing is lost.";
        self.lines
            .push(Line::new(Tone::Bad, Place::CallLost, text.to_owned()));
        self
    }

    /// The lines, shortened if there are too many.
    pub(super) fn into_lines(mut self) -> Vec<Line> {
        let omitted = self.lines.len().saturating_sub(MAX_FIRST + MAX_LAST);
        if omitted > 1 {
            let text = format!("{omitted} more steps are in the diagram.");
            let omission = Line {
                place: None,
                ..Line::new(Tone::Plain, Place::StartLogin, text)
            };
            self.lines
                .splice(MAX_FIRST..MAX_FIRST + omitted, [omission]);
        }
        self.lines
    }

    fn add(&mut self, call: &CallEvents<'_>, source: &Source<'_>) {
        let mut add = CallStory {
            story: self,
            call,
            source,
        };
        match call.operation() {
            Some("POST /v1/login/session") => add.session(),
            Some("GET /authorize") => add.authorize(),
            Some("GET /callback/{provider}" | "POST /callback/{provider}") => add.provider_answer(),
            Some("POST /v1/login/result") => add.result(),
            Some("POST /v1/token") => add.token(),
            Some("GET /v1/profile") => add.profile(),
            Some("POST /v1/revoke") => add.revoke(),
            Some(operation) if operation.contains("/login/{handle}") => add.visit(),
            _ => {}
        }
    }

    /// Adds the state of a login that has no outcome.
    fn add_state(&mut self, now_ms: i64) {
        let Some(began_at) = self.open_since else {
            return;
        };
        let ends_at = began_at + LoginLifetime::MS;
        let arrow = self.is_at_provider.take();
        if now_ms >= ends_at {
            let text = "The login expired ten minutes after its start. You were not signed in.";
            let line = Line::new(Tone::Bad, Place::CallbackAgain, text.to_owned());
            self.lines.push(Line { arrow, ..line });
        } else if arrow.is_some() {
            let text = format!(
                "Your browser went to {}, and has not come back. The login ends at {} (UTC).",
                self.provider,
                labels::time_of_day(ends_at)
            );
            let line = Line::new(Tone::Plain, self.departure(), text);
            self.lines.push(Line { arrow, ..line });
        }
    }

    /// The place that sends the browser to the broker.
    fn departure(&self) -> Place {
        match self.is_legacy {
            true => Place::LegacyAuthorize,
            false => Place::Redirect,
        }
    }

    fn sign_in(&mut self) {
        let text = "We signed you in, with a session of our own. Your account is keyed by subject, not by e-mail address.";
        self.lines
            .push(Line::new(Tone::Good, Place::SignIn, text.to_owned()));
        self.open_since = None;
    }
}

impl Line {
    fn new(tone: Tone, place: Place, text: String) -> Self {
        Self {
            text,
            times: 1,
            tone,
            place: Some(place),
            arrow: None,
        }
    }

    pub(super) fn text(&self) -> String {
        match self.times {
            1 => self.text.clone(),
            times => format!("{} ({times} times)", self.text),
        }
    }
}

impl Tone {
    /// The CSS class.
    pub(super) fn class(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Good => "good",
            Self::Bad => "bad",
            Self::Faulted => "faulted",
        }
    }
}
