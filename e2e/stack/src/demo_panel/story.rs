//! A login in plain words, from its events: "we" is the demo, "you" its user. What an answer
//! means stands in the table of `facts`; here is what depends on the rest of the login.

use std::sync::Arc;

use contract::LoginLifetime;

use crate::event_log::LoggedEvent;
use crate::facts::meaning::{Answers, CallEvents, CallOrResend, Meaning, calls_in, meaning};
use crate::facts::{Call, Fact, LoginFlow, PanelTexts};
use crate::labels;
use crate::sources::Place;

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

/// The input of a story, besides the events.
pub(super) struct Source<'a> {
    /// The path of the page with the diagram.
    pub(super) path: String,
    pub(super) now_ms: i64,
    pub(super) answers: &'a dyn Answers,
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
        for item in calls_in(events) {
            if let CallOrResend::Call(call) = item {
                story.add(&call, source);
            }
        }
        story.add_state(source.now_ms);
        story
    }

    /// The same story, and a visit of the callback for which no login was under way.
    pub(super) fn without_login(self, flow: LoginFlow) -> Self {
        match flow {
            LoginFlow::Clean => self.with(
                Tone::Bad,
                Place::CallbackSession,
                "Your browser came to our callback, and no login of this browser was under way here. So we did not call the broker.",
            ),
            LoginFlow::Legacy => self.with(
                Tone::Bad,
                Place::LegacyConsumeState,
                "Your browser came to our callback, and the state in the address belongs to no login that is under way in this browser. So we did not call the broker.",
            ),
        }
    }

    /// The same story of the login that began at `at`, and a visit of the callback after its
    /// end; `path` is that of its diagram.
    pub(super) fn expired(mut self, at: i64, flow: LoginFlow, path: String) -> Self {
        let place = match flow {
            LoginFlow::Clean => Place::CallbackAgain,
            LoginFlow::Legacy => Place::LegacyConsumeState,
        };
        let time = labels::time_of_day(at);
        let text =
            format!("Your login of {time} (UTC) had expired, so we did not call the broker.");
        self.say(Tone::Bad, place, Some(path), text);
        self
    }

    /// The same story, and a start that reached no broker.
    pub(super) fn without_broker(self) -> Self {
        self.with(
            Tone::Bad,
            Place::CallLost,
            "We asked the broker to start a login, and it did not answer. No login has started, so nothing is lost.",
        )
    }

    fn with(mut self, tone: Tone, place: Place, text: &str) -> Self {
        self.say(tone, place, None, text.to_owned());
        self
    }

    /// The lines, shortened if there are too many.
    pub(super) fn into_lines(mut self) -> Vec<Line> {
        let omitted = self.lines.len().saturating_sub(MAX_FIRST + MAX_LAST);
        if omitted > 1 {
            let omission = Line {
                text: format!("{omitted} more steps are in the diagram."),
                times: 1,
                tone: Tone::Plain,
                place: None,
                arrow: None,
            };
            self.lines
                .splice(MAX_FIRST..MAX_FIRST + omitted, [omission]);
        }
        self.lines
    }

    fn add(&mut self, call: &CallEvents<'_>, source: &Source<'_>) {
        let arrow = |half| Some(arrow(call, half, &source.path));
        let kind = call.call();
        if kind == Some(Call::Revoke) {
            let text = "We revoked the token.".to_owned();
            return self.say(Tone::Plain, Place::RevokeToken, arrow("request"), text);
        }
        let Some((kind, texts)) = kind.and_then(|kind| Some((kind, kind.panel_texts()?))) else {
            return;
        };
        match kind {
            Call::Authorize => self.is_legacy = true,
            Call::Return | Call::ConfirmReturn => self.is_at_provider = None,
            _ => {}
        }
        if let Some((place, text)) = texts.before {
            self.say(Tone::Plain, place, arrow("request"), text.to_owned());
        } else if kind == Call::Redeem {
            self.add_consumed_state();
        }
        let answered = call.answered;
        let delivered = answered.filter(|event| event.is_delivered(call.fault()));
        match delivered.map(|event| (event, meaning(event, source.answers))) {
            None => {
                let has_committed = answered.is_some_and(|event| event.committed);
                self.add_loss(call, &texts, has_committed, arrow("answer"));
            }
            Some((event, meaning)) if meaning.fact == Fact::FailedThere => {
                self.add_failure_there(event, arrow("answer"));
            }
            Some((event, meaning)) if is_refused(event) && meaning.fact != Fact::Cancelled => {
                self.add_refusal(event, texts.refused, arrow("answer"));
                if matches!(kind, Call::Return | Call::ConfirmReturn) {
                    self.open_since = None;
                }
            }
            Some((event, meaning)) => self.add_answer(event, &meaning, &arrow),
        }
        let has_ended = match kind {
            Call::ReadResult | Call::Redeem => delivered.is_none_or(is_refused),
            Call::ReadProfile => true,
            _ => false,
        };
        if has_ended {
            self.open_since = None;
        }
    }

    /// Adds what the demo, or the user, has learnt by an answer.
    fn add_answer(
        &mut self,
        event: &LoggedEvent,
        meaning: &Meaning,
        arrow: &dyn Fn(&'static str) -> Option<String>,
    ) {
        let fact = meaning.fact;
        if let Some((place, text)) = fact.labels().panel {
            // Nothing of this login has come back.
            let text = match &self.is_at_provider {
                Some(_) if fact == Fact::Pending => {
                    "Another tab of yours came back first, so we asked about this login too: still pending. Nothing was used up: we keep the key."
                }
                _ => text,
            };
            let (tone, half) = match fact {
                Fact::Failed | Fact::Cancelled => (Tone::Bad, "answer"),
                Fact::Authorized => (Tone::Plain, "request"),
                _ => (Tone::Plain, "answer"),
            };
            let why = match event.provenance {
                Some("vouched") => "",
                _ => ", because the visit did not begin on our page",
            };
            let seconds = LoginLifetime::SECONDS.to_string();
            let text = self.named(text).replace("{why}", why);
            let text = text.replace("{seconds}", &seconds);
            let text = match &meaning.subject {
                Some(subject) => text.replace("{subject}", subject),
                None => text
                    .replace(" of {subject}", "")
                    .replace("{subject}", "the login failed"),
            };
            self.say(tone, place, arrow(half), text);
        }
        match fact {
            Fact::Registered => self.open_since = Some(event.at),
            Fact::Authorized => {
                self.open_since = Some(event.at);
                self.is_at_provider = arrow("answer");
            }
            Fact::SentToProvider | Fact::Confirmed => self.is_at_provider = arrow("answer"),
            Fact::SignedIn | Fact::ProfileRead => {
                let text = "We signed you in, with a session of our own. Your account is keyed by subject, not by e-mail address.";
                self.say(Tone::Good, Place::SignIn, None, text.to_owned());
                self.open_since = None;
            }
            Fact::Failed | Fact::ResultRead => self.open_since = None,
            _ => {}
        }
    }

    /// The provider's answer ended the login, or came too late, and the broker sent the
    /// browser back to us.
    fn add_failure_there(&mut self, event: &LoggedEvent, arrow: Option<String>) {
        let cause = match event.rule {
            Some("upstream.denied") => format!("You cancelled at {}.", self.provider),
            Some("upstream_login.expiry") => {
                format!(
                    "You signed in at {}, after the login had expired.",
                    self.provider
                )
            }
            _ => happened(event),
        };
        let (back, place) = match self.is_legacy {
            true => ("an error and our state", Place::LegacyCallback),
            false => ("nothing", Place::Callback),
        };
        let text = format!("{cause} Your browser came back with {back} in the address bar.");
        self.say(Tone::Bad, place, arrow.clone(), text);
        if self.is_legacy {
            self.add_consumed_state();
            let text = "The broker sent an error instead of a code, so there was nothing to exchange. You were not signed in.";
            self.say(Tone::Bad, Place::LegacyError, arrow, text.to_owned());
        }
        if self.is_legacy || event.rule == Some("upstream_login.expiry") {
            self.open_since = None;
        }
    }

    fn add_consumed_state(&mut self) {
        let text =
            "The state was the one in your session. We took it out: it is never accepted again.";
        let place = Place::LegacyConsumeState;
        self.say(Tone::Plain, place, None, text.to_owned());
    }

    fn add_refusal(&mut self, event: &LoggedEvent, call: &str, arrow: Option<String>) {
        let status = event.status.unwrap_or_default();
        let advice = event.advice.unwrap_or_default();
        let (call, happened) = (self.named(call), happened(event));
        let text = format!("{call} The broker refused with {status}. {happened} {advice}");
        let text = text.trim_end().to_owned();
        self.say(Tone::Bad, Place::CallRefused, arrow, text);
    }

    fn add_loss(
        &mut self,
        call: &CallEvents<'_>,
        texts: &PanelTexts,
        has_committed: bool,
        arrow: Option<String>,
    ) {
        let fault = match call.fault() {
            Some(fault) => format!(" (fault injected: {})", fault.name()),
            None => String::new(),
        };
        let end = texts.after_loss;
        let lost = self.named(texts.lost);
        let text = format!("{lost}, and the answer did not arrive{fault}. {end}");
        let text = text.trim_end().to_owned();
        self.say(Tone::Faulted, Place::CallLost, arrow.clone(), text);
        if let Some(place) = texts.gives_up {
            let had = match has_committed {
                true => "here it had, so a second call would have been refused with 400",
                false => "here it had not",
            };
            let text = format!(
                "We did not ask again: we cannot know whether the broker had used it up ({had}). You were not signed in."
            );
            self.say(Tone::Faulted, place, arrow, text);
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
            self.say(Tone::Bad, Place::CallbackAgain, arrow, text.to_owned());
        } else if arrow.is_some() {
            let text = format!(
                "Your browser went to {}, and has not come back. The login ends at {} (UTC).",
                self.provider,
                labels::time_of_day(ends_at)
            );
            // The place that sends the browser to the broker.
            let place = match self.is_legacy {
                true => Place::LegacyAuthorize,
                false => Place::Redirect,
            };
            self.say(Tone::Plain, place, arrow, text);
        }
    }

    /// `text` with the name of the provider.
    fn named(&self, text: &str) -> String {
        text.replace("{provider}", self.provider)
    }

    /// Adds a line, or counts it if the last one says the same.
    fn say(&mut self, tone: Tone, place: Place, arrow: Option<String>, text: String) {
        let mut line = Line {
            text,
            times: 1,
            tone,
            place: Some(place),
            arrow,
        };
        match self.lines.last_mut() {
            Some(last) if last.text == line.text => {
                line.times += last.times;
                *last = line;
            }
            _ => self.lines.push(line),
        }
    }
}

/// The path of one of the two arrows of a call.
fn arrow(call: &CallEvents<'_>, half: &str, path: &str) -> String {
    // A call that never arrived has no answer in the diagram.
    let half = call.answered.map_or("request", |_| half);
    format!("{path}?call={}#{}-{half}", call.request_id, call.id())
}

fn is_refused(event: &LoggedEvent) -> bool {
    let is_refusal = event.rule.is_some() || event.status.is_none_or(|status| status >= 400);
    is_refusal && event.status != Some(200)
}

/// The event's `happened`, and the more specific reason, as sentences.
fn happened(event: &LoggedEvent) -> String {
    let sentences = event.happened.into_iter().chain(event.why);
    let sentences: Vec<_> = sentences.map(labels::sentence).collect();
    sentences.join(" ")
}

impl Line {
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
