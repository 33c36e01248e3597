//! The lines about one call: what it asked for, and what its caller got.

use contract::LoginLifetime;

use super::{Line, Source, Story, Tone};
use crate::event_log::LoggedEvent;
use crate::inspector::{CallEvents, Outcome, labels, outcome};
use crate::sources::Place;

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

/// One call of a story.
pub(super) struct CallStory<'s, 'c> {
    pub(super) story: &'s mut Story,
    pub(super) call: &'c CallEvents<'c>,
    pub(super) source: &'c Source<'c>,
}

impl<'c> CallStory<'_, 'c> {
    pub(super) fn session(&mut self) {
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

    pub(super) fn authorize(&mut self) {
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
    pub(super) fn visit(&mut self) {
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

    pub(super) fn provider_answer(&mut self) {
        self.story.is_at_provider = None;
        let provider = self.story.provider;
        match self.answer() {
            Answer::Received(event) if event.is_question() => {
                let text = "The broker asked whether you started this sign-in, because your browser looks different from the one that began, or came from another network.";
                self.say(
                    Tone::Plain,
                    Arrow::Answer,
                    Place::StartLogin,
                    text.to_owned(),
                );
            }
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

    pub(super) fn result(&mut self) {
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

    pub(super) fn token(&mut self) {
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

    pub(super) fn profile(&mut self) {
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

    pub(super) fn revoke(&mut self) {
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

    pub(super) fn lost(&mut self, call: &str, end: &str) {
        let fault = match self.call.fault() {
            Some(fault) => format!(" (fault injected: {fault})"),
            None => String::new(),
        };
        let text = format!("{call}, and the answer did not arrive{fault}. {end}");
        let text = text.trim_end().to_owned();
        self.say(Tone::Faulted, Arrow::Answer, Place::CallLost, text);
    }

    pub(super) fn refused(&mut self, call: &str, event: &LoggedEvent) {
        let status = event.status.unwrap_or_default();
        let advice = event.advice.unwrap_or_default();
        let happened = happened(event);
        let text = format!("{call} The broker refused with {status}. {happened} {advice}");
        let text = text.trim_end().to_owned();
        self.say(Tone::Bad, Arrow::Answer, Place::CallRefused, text);
    }

    fn answer(&self) -> Answer<'c> {
        match self.call.answered {
            Some(event) if event.is_delivered(self.call.fault()) => {
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
