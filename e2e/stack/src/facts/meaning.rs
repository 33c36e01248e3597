//! The meaning of each message of a login, decided once from its event and from the recorded
//! answer behind it; and the events of a login, grouped by call.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use broker::audit::Step;
use mock_upstream::{Misbehaviour, Provider};
use serde_json::Value;

use super::{Call, Fact};
use crate::compared::Compared;
use crate::event_log::{EventLog, EventSource, LoggedEvent};
use crate::faults::Fault;

/// A provider, and the misbehaviour of it that was planned.
pub(crate) type Planned = (Provider, Misbehaviour);

/// The recorded answers behind the events, as far as they are kept, by the `X-Request-Id` of
/// their exchange.
pub(crate) trait Answers {
    /// A JSON body, masked.
    fn body(&self, request_id: &str) -> Option<Value>;

    /// Whether a redirect leads to the provider.
    fn leads_to_provider(&self, _request_id: &str) -> Option<bool> {
        None
    }

    /// Whether a fault holds the answer at this moment.
    fn is_held(&self, _request_id: &str) -> bool {
        false
    }

    /// The planned misbehaviour of the provider of this login.
    fn planned(&self, _login: &str) -> Option<Planned> {
        None
    }

    /// The values that the refusal in `event` is about.
    fn compared(&self, _event: &LoggedEvent) -> Vec<Compared> {
        Vec::new()
    }

    /// The time until the broker had answered.
    fn took(&self, _request_id: &str) -> Option<Duration> {
        None
    }
}

impl Answers for EventLog {
    fn body(&self, request_id: &str) -> Option<Value> {
        self.answer_body(request_id)
    }
}

#[cfg(test)]
impl<F: Fn(&str) -> Option<Value>> Answers for F {
    fn body(&self, request_id: &str) -> Option<Value> {
        self(request_id)
    }
}

/// The fact that an event shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Meaning {
    pub(crate) fact: Fact,
    /// The name of the user, the error, or the lifetime that the answer tells.
    pub(crate) subject: Option<String>,
}

/// The fact that `event` shows.
pub(crate) fn meaning(event: &LoggedEvent, answers: &dyn Answers) -> Meaning {
    let plain = |fact| Meaning {
        fact,
        subject: None,
    };
    match (event.source, event.status) {
        (EventSource::Proxy, _) if event.resend => plain(Fact::Resent),
        (EventSource::Proxy, _) => plain(Fact::FaultInjected),
        (_, None) if event.to != "broker" => plain(Fact::ProviderSilent),
        (_, Some(..400)) if event.to != "broker" => plain(Fact::ProviderAnswered),
        _ if event.to != "broker" => plain(Fact::ProviderRefused),
        (_, Some(303)) if event.from == "browser" => plain(redirect(event, answers)),
        (_, Some(200)) => answered(event, answers),
        (_, Some(400..)) => plain(Fact::Refused),
        _ => plain(Fact::Answered),
    }
}

/// The meaning of a redirect. Its target follows from the exchange if that is kept, and from
/// the event otherwise.
fn redirect(event: &LoggedEvent, answers: &dyn Answers) -> Fact {
    let guess = !event.is_return() && event.rule.is_none();
    let leads_to_provider = answers.leads_to_provider(&event.request_id);
    match (leads_to_provider.unwrap_or(guess), Call::of(event)) {
        (true, Call::Confirm) => Fact::Confirmed,
        (true, Call::Authorize) => Fact::Authorized,
        (true, _) => Fact::SentToProvider,
        (false, Call::Cancel) => Fact::Cancelled,
        (false, Call::Return | Call::ConfirmReturn) => match event.rule {
            Some(_) => Fact::FailedThere,
            None if event.has_step(Step::CodeIssued) => Fact::CameBackWithCode,
            None => Fact::CameBack,
        },
        (false, _) => Fact::SentBack,
    }
}

/// The meaning of an answer with status 200.
fn answered(event: &LoggedEvent, answers: &dyn Answers) -> Meaning {
    let body = || answers.body(&event.request_id).unwrap_or_default();
    let lifetime = |body: Value| {
        let seconds = body["expires_in"].as_u64();
        seconds.map(|seconds| format!("valid for {seconds} s"))
    };
    let (fact, subject) = match Call::of(event) {
        Call::StartLogin => (Fact::Registered, lifetime(body())),
        Call::Visit => (Fact::Asked, None),
        Call::Return => (Fact::AskedOnReturn, None),
        Call::ReadResult => result(event, &body()),
        Call::Redeem => (Fact::TokenIssued, lifetime(body())),
        Call::ReadProfile => (Fact::ProfileRead, user(&body())),
        Call::Revoke => (Fact::TokenRevoked, None),
        _ => (Fact::Answered, None),
    };
    Meaning { fact, subject }
}

fn result(event: &LoggedEvent, body: &Value) -> (Fact, Option<String>) {
    match body["status"].as_str() {
        Some("succeeded") => {
            let user = user(&body["profile"]).unwrap_or_else(|| "a user".to_owned());
            (Fact::SignedIn, Some(user))
        }
        Some("failed") => (Fact::Failed, body["error"].as_str().map(str::to_owned)),
        None if event.committed => (Fact::ResultRead, None),
        _ => (Fact::Pending, None),
    }
}

/// The text by which a reader knows the user of a profile. Only the subject is never null.
fn user(profile: &Value) -> Option<String> {
    let fields = ["name", "username", "email", "providerSubject"];
    let known = fields.into_iter().find_map(|field| profile[field].as_str());
    known.map(str::to_owned)
}

impl Meaning {
    /// The end of the login that its answer tells the app.
    pub(crate) fn outcome(&self) -> Option<Outcome<'_>> {
        let subject = self.subject.as_deref()?;
        match self.fact {
            Fact::SignedIn | Fact::ProfileRead => Some(Outcome::SignedIn(subject)),
            Fact::Failed => Some(Outcome::Failed(subject)),
            _ => None,
        }
    }
}

/// The end of a login, as its app learns it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome<'m> {
    /// The user with this name, or another text that identifies them, signed in.
    SignedIn(&'m str),
    /// The login failed with this error.
    Failed(&'m str),
}

/// A call, or a resend, in the order of their first events.
pub(crate) enum CallOrResend<'e> {
    Call(CallEvents<'e>),
    /// A lost call is sent again.
    Resend(&'e LoggedEvent),
}

impl CallOrResend<'_> {
    /// Whether this and `next` are calls that show the same and change nothing.
    pub(crate) fn is_like(&self, next: &Self) -> bool {
        let shown = |item: &Self| match item {
            Self::Call(call) if call.faulted.is_none() && call.provider_calls.is_empty() => {
                let event = call.answered.filter(|it| it.steps.is_empty())?;
                Some((
                    event.from,
                    event.operation.clone(),
                    event.status,
                    event.rule,
                ))
            }
            _ => None,
        };
        shown(self).is_some_and(|own| shown(next) == Some(own))
    }
}

/// The events of one call of a browser or a backend, as far as it has come.
pub(crate) struct CallEvents<'e> {
    pub(crate) request_id: &'e str,
    /// The sequence number of the first event.
    seq: u64,
    started_at: i64,
    /// The broker's calls to the provider during this call.
    pub(crate) provider_calls: Vec<&'e LoggedEvent>,
    /// The broker's event about the call, once it has answered.
    pub(crate) answered: Option<&'e LoggedEvent>,
    /// The proxy's event about its fault.
    pub(crate) faulted: Option<&'e LoggedEvent>,
}

/// The calls and resends in `events`.
pub(crate) fn calls_in(events: &[Arc<LoggedEvent>]) -> Vec<CallOrResend<'_>> {
    let mut items: Vec<CallOrResend> = Vec::new();
    let mut known = HashMap::new();
    for event in events {
        if event.resend {
            items.push(CallOrResend::Resend(event));
            continue;
        }
        let index = known.get(event.request_id.as_str());
        match index.and_then(|index| items.get_mut(*index)) {
            Some(CallOrResend::Call(call)) => call.add(event),
            _ => {
                known.insert(event.request_id.as_str(), items.len());
                items.push(CallOrResend::Call(CallEvents::new(event)));
            }
        }
    }
    items
}

impl<'e> CallEvents<'e> {
    fn new(first: &'e LoggedEvent) -> Self {
        let mut call = Self {
            request_id: &first.request_id,
            seq: first.seq,
            started_at: first.at,
            provider_calls: Vec::new(),
            answered: None,
            faulted: None,
        };
        call.add(first);
        call
    }

    fn add(&mut self, event: &'e LoggedEvent) {
        match event.source {
            EventSource::Proxy => self.faulted = Some(event),
            EventSource::Audit if event.to == "broker" => self.answered = Some(event),
            EventSource::Audit => self.provider_calls.push(event),
        }
    }

    /// An id that stays the same while the call goes on.
    pub(crate) fn id(&self) -> String {
        format!("c{}", self.seq)
    }

    pub(crate) fn call(&self) -> Option<Call> {
        self.answered.or(self.faulted).map(Call::of)
    }

    pub(crate) fn fault(&self) -> Option<Fault> {
        self.faulted.and_then(LoggedEvent::fault)
    }

    pub(crate) fn started_at(&self) -> i64 {
        self.started_at
    }

    pub(crate) fn ended_at(&self) -> i64 {
        let last = self.faulted.or(self.answered);
        let last = last.or(self.provider_calls.last().copied());
        last.map_or(self.started_at, |event| event.at)
    }
}
