//! A login in plain words, from its events: "we" is the demo, "you" its user.

use std::sync::Arc;

use contract::LoginLifetime;
use serde_json::Value;

use crate::event_log::LoggedEvent;
use crate::faults;
use crate::inspector::labels;
use crate::inspector::{CallEvents, CallOrResend, Outcome, calls, outcome};
use crate::login_status::LoginFlow;
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

/// The outcome of a call, seen from its caller.
enum Answer<'e> {
    Received(&'e LoggedEvent),
    Refused(&'e LoggedEvent),
    /// The answer did not arrive; true if the broker had committed the call.
    Lost(bool),
}

/// The two arrows of a call.
#[derive(Clone, Copy)]
enum Arrow {
    Request,
    Answer,
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
            Some("GET /callback/{provider}") => add.provider_answer(),
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

/// One call of a story.
struct CallStory<'s, 'c> {
    story: &'s mut Story,
    call: &'c CallEvents<'c>,
    source: &'c Source<'c>,
}

impl<'c> CallStory<'_, 'c> {
    fn session(&mut self) {
        let text = "We drew a fresh session key. It stays on our server.";
        self.say(Tone::Plain, Arrow::Request, Place::DrawKey, text.to_owned());
        match self.answer() {
            Answer::Received(event) => {
                self.story.open_since = Some(event.at);
                let text = format!(
                    "We gave it to the broker and got an address for your browser, valid for {} s.",
                    LoginLifetime::SECONDS
                );
                self.say(Tone::Plain, Arrow::Answer, Place::RegisterKey, text);
            }
            Answer::Refused(event) => self.refused("We gave it to the broker.", event),
            Answer::Lost(_) => self.lost(
                "We gave it to the broker",
                "Your sign-in has not started, so nothing is lost.",
            ),
        }
    }

    fn authorize(&mut self) {
        self.story.is_legacy = true;
        let text =
            "We drew a fresh state and a code verifier. Both stay in your session on our server.";
        self.say(
            Tone::Plain,
            Arrow::Request,
            Place::LegacyState,
            text.to_owned(),
        );
        match self.answer() {
            Answer::Received(event) => {
                self.story.open_since = Some(event.at);
                self.story.is_at_provider = Some(self.arrow(Arrow::Answer));
                let text = "We sent your browser to the broker with the state and a hash of the verifier in the address.";
                let place = Place::LegacyAuthorize;
                self.say(Tone::Plain, Arrow::Request, place, text.to_owned());
            }
            Answer::Refused(event) => self.refused("We sent your browser to the broker.", event),
            Answer::Lost(_) => self.lost("We sent your browser to the broker", ""),
        }
    }

    /// A visit of the authorization URL, or a button of the confirmation page.
    fn visit(&mut self) {
        match self.answer() {
            Answer::Received(event) if event.status == Some(200) => {
                let why = match event.provenance {
                    Some("vouched") => "",
                    _ => ", because the visit did not begin on our page",
                };
                let text = format!("The broker asked whether you started this sign-in{why}.");
                self.say(Tone::Plain, Arrow::Answer, Place::StartLogin, text);
            }
            Answer::Received(_) => {
                self.story.is_at_provider = Some(self.arrow(Arrow::Answer));
            }
            Answer::Refused(event) if event.rule == Some("relay.cancelled") => {
                let text =
                    "You cancelled on the broker’s page, because you had not started this sign-in.";
                self.say(Tone::Bad, Arrow::Answer, Place::StartLogin, text.to_owned());
            }
            Answer::Refused(event) => self.refused("Your browser opened the address.", event),
            Answer::Lost(_) => self.lost("Your browser opened the address", ""),
        }
    }

    fn provider_answer(&mut self) {
        self.story.is_at_provider = None;
        let provider = self.story.provider;
        match self.answer() {
            Answer::Received(_) if self.story.is_legacy => {
                let text = format!(
                    "You signed in at {provider}, and your browser came back with a code and our state in the address bar."
                );
                self.say(Tone::Plain, Arrow::Answer, Place::LegacyCallback, text);
            }
            Answer::Received(_) => {
                let text = format!(
                    "Your browser went there, you signed in at {provider}, and it came back with nothing in the address bar."
                );
                self.say(Tone::Plain, Arrow::Answer, Place::Callback, text);
            }
            Answer::Refused(event) if event.status == Some(303) => self.failed_there(event),
            Answer::Refused(event) => {
                self.story.open_since = None;
                let text = format!("Your browser came back from {provider}.");
                self.refused(&text, event);
            }
            Answer::Lost(_) => {
                let text = format!("Your browser came back from {provider} to the broker");
                self.lost(&text, "");
            }
        }
    }

    /// The provider's answer ended the login, or came too late, and the broker sent the
    /// browser back to us.
    fn failed_there(&mut self, event: &LoggedEvent) {
        let provider = self.story.provider;
        let cause = match event.rule {
            Some("upstream.denied") => format!("You cancelled at {provider}."),
            _ => happened(event),
        };
        let (back, place) = match self.story.is_legacy {
            true => ("an error and our state", Place::LegacyCallback),
            false => ("nothing", Place::Callback),
        };
        let text = format!("{cause} Your browser came back with {back} in the address bar.");
        self.say(Tone::Bad, Arrow::Answer, place, text);
        if self.story.is_legacy {
            self.state_consumed();
            let text = "The broker sent an error instead of a code, so there was nothing to exchange. You were not signed in.";
            self.say(
                Tone::Bad,
                Arrow::Answer,
                Place::LegacyError,
                text.to_owned(),
            );
            self.story.open_since = None;
        } else if event.rule == Some("upstream_login.expiry") {
            self.story.open_since = None;
        }
    }

    fn state_consumed(&mut self) {
        let text =
            "The state was the one in your session. We took it out: it is never accepted again.";
        let line = Line::new(Tone::Plain, Place::LegacyConsumeState, text.to_owned());
        self.story.lines.push(line);
    }

    fn result(&mut self) {
        match self.answer() {
            Answer::Received(event) => match self.outcome(event) {
                Some(Outcome::SignedIn(user)) => {
                    let text = format!(
                        "We asked once for the result and got the profile of {user}. Ask again, and the answer is 400."
                    );
                    self.say(Tone::Plain, Arrow::Answer, Place::ReadResultOnce, text);
                    self.story.sign_in();
                }
                Some(Outcome::Failed(error)) => {
                    self.story.open_since = None;
                    let text = format!(
                        "We asked once for the result: {error}. You were not signed in. Ask again, and the answer is 400."
                    );
                    self.say(Tone::Bad, Arrow::Answer, Place::ResultOutcome, text);
                }
                None if event.committed => {
                    self.story.open_since = None;
                    let text = "We asked once for the result, and got it.".to_owned();
                    self.say(Tone::Plain, Arrow::Answer, Place::ReadResultOnce, text);
                }
                None => {
                    let text = "We asked for the result, and it was still pending. That costs nothing: we keep the key.";
                    self.say(
                        Tone::Plain,
                        Arrow::Answer,
                        Place::PutBackKey,
                        text.to_owned(),
                    );
                }
            },
            Answer::Refused(event) => {
                self.story.open_since = None;
                self.refused("We asked for the result.", event);
            }
            Answer::Lost(committed) => {
                self.one_time_lost("We asked once for the result", committed, Place::ForgetKey);
            }
        }
    }

    fn token(&mut self) {
        self.state_consumed();
        match self.answer() {
            Answer::Received(_) => {
                let text = "We exchanged the code and the verifier for an access token, once.";
                let place = Place::LegacyExchange;
                self.say(Tone::Plain, Arrow::Answer, place, text.to_owned());
            }
            Answer::Refused(event) => {
                self.story.open_since = None;
                self.refused("We sent the code to the broker.", event);
            }
            Answer::Lost(committed) => {
                let text = "We exchanged the code, once";
                self.one_time_lost(text, committed, Place::LegacyExchange);
            }
        }
    }

    fn profile(&mut self) {
        let answer = self.answer();
        match answer {
            Answer::Received(event) => {
                let user = match self.outcome(event) {
                    Some(Outcome::SignedIn(user)) => format!(" of {user}"),
                    _ => String::new(),
                };
                let text = format!("We read the profile{user} with the token.");
                self.say(Tone::Plain, Arrow::Answer, Place::LegacyProfile, text);
                self.story.sign_in();
            }
            Answer::Refused(event) => self.refused("We asked for the profile.", event),
            Answer::Lost(_) => {
                let end = "Without a profile there is no user to sign in.";
                self.lost("We asked for the profile", end);
            }
        }
        self.story.open_since = None;
    }

    fn revoke(&mut self) {
        let text = "We revoked the token.".to_owned();
        self.say(Tone::Plain, Arrow::Request, Place::RevokeToken, text);
    }

    /// A call that may be used once, whose answer did not arrive.
    fn one_time_lost(&mut self, call: &str, committed: bool, place: Place) {
        self.story.open_since = None;
        self.lost(call, "");
        let had = match committed {
            true => "here it had, so a second call would have been refused with 400",
            false => "here it had not",
        };
        let text = format!(
            "We did not ask again: we cannot know whether the broker had used it up ({had}). You were not signed in."
        );
        self.say(Tone::Faulted, Arrow::Answer, place, text);
    }

    fn lost(&mut self, call: &str, end: &str) {
        let fault = match self.call.fault() {
            Some(fault) => format!(" (fault injected: {fault})"),
            None => String::new(),
        };
        let text = format!("{call}, and the answer did not arrive{fault}. {end}");
        let text = text.trim_end().to_owned();
        self.say(Tone::Faulted, Arrow::Answer, Place::CallLost, text);
    }

    fn refused(&mut self, call: &str, event: &LoggedEvent) {
        let status = event.status.unwrap_or_default();
        let advice = event.advice.unwrap_or_default();
        let happened = happened(event);
        let text = format!("{call} The broker refused with {status}. {happened} {advice}");
        let text = text.trim_end().to_owned();
        self.say(Tone::Bad, Arrow::Answer, Place::CallRefused, text);
    }

    fn answer(&self) -> Answer<'c> {
        match self.call.answered {
            Some(event) if faults::delivers_answer(self.call.fault()) => {
                let is_refused = event.rule.is_some() || event.status.is_none_or(|it| it >= 400);
                match is_refused && event.status != Some(200) {
                    true => Answer::Refused(event),
                    false => Answer::Received(event),
                }
            }
            answered => Answer::Lost(answered.is_some_and(|event| event.committed)),
        }
    }

    fn outcome(&self, event: &LoggedEvent) -> Option<Outcome> {
        let body = (self.source.body)(&event.request_id);
        outcome(event, body.as_ref())
    }

    fn say(&mut self, tone: Tone, arrow: Arrow, place: Place, text: String) {
        let arrow = Some(self.arrow(arrow));
        let line = Line {
            arrow,
            ..Line::new(tone, place, text)
        };
        match self.story.lines.last_mut() {
            Some(last) if last.text == line.text => {
                let times = last.times + 1;
                *last = Line { times, ..line };
            }
            _ => self.story.lines.push(line),
        }
    }

    fn arrow(&self, arrow: Arrow) -> String {
        let suffix = match (arrow, self.call.answered) {
            (Arrow::Answer, Some(_)) => "answer",
            // A call that never arrived has no answer in the diagram.
            (Arrow::Answer, None) | (Arrow::Request, _) => "request",
        };
        let (path, call) = (&self.source.path, self.call.request_id);
        format!("{path}?call={call}#{}-{suffix}", self.call.id())
    }
}

/// The event's `happened`, and the more specific reason, as sentences.
fn happened(event: &LoggedEvent) -> String {
    let sentences = event.happened.into_iter().chain(event.why);
    sentences
        .map(labels::sentence)
        .collect::<Vec<_>>()
        .join(" ")
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
