//! The builder of a sequence: it adds the rows of each call, and infers the messages
//! between the calls.

use std::time::Duration;

use super::Answers;
use super::calls::{CallEvents, CallOrResend};
use super::deadline::Deadline;
use super::meaning::{self, Meaning};
use super::redirect::{self, RedirectTarget, answer_label, callback_label};
use super::row::{Arrow, Note, Participant, Row, Style};
use crate::event_log::LoggedEvent;
use crate::inspector::{labels, provider_exchange};

/// The time between two calls from which on a pause is drawn.
const PAUSE_MS: i64 = 30_000;

/// Builds the rows of one login, call by call.
pub(super) struct SequenceBuilder<'a> {
    pub(super) rows: Vec<Row>,
    answers: &'a dyn Answers,
    last_ended_at: Option<i64>,
    /// Until its line is drawn.
    deadline: Option<Deadline>,
    /// Whether the consumer has sent the browser to the broker.
    was_sent_to_broker: bool,
    is_at_provider: bool,
}

impl<'a> SequenceBuilder<'a> {
    pub(super) fn new(answers: &'a dyn Answers, deadline: Option<Deadline>) -> Self {
        Self {
            rows: Vec::new(),
            answers,
            last_ended_at: None,
            deadline,
            was_sent_to_broker: false,
            is_at_provider: false,
        }
    }

    /// Adds the rows of the next call.
    pub(super) fn add(&mut self, item: &CallOrResend) {
        match item {
            CallOrResend::Call(call) => self.add_call(call),
            CallOrResend::Resend(event) => self.rows.push(Row::Note(Note::of_resend(event))),
        }
    }

    fn add_call(&mut self, call: &CallEvents) {
        self.add_pause(call.started_at(), "later");
        self.last_ended_at = Some(call.ended_at());
        self.infer_before(call);
        self.add_request(call);
        for event in &call.provider_calls {
            self.add_provider_call(event);
        }
        if let Some(event) = call.answered {
            if event.committed {
                self.rows.push(Row::Committed(event.steps.clone()));
            }
            self.add_answer(call, event);
        }
        if let Some(event) = call.faulted {
            self.rows.push(Row::Note(Note::of_fault(event)));
        }
        self.infer_after(call);
    }

    /// Adds what time has brought since the last call: for a login without an outcome, until
    /// now.
    pub(super) fn end(&mut self) {
        let Some(now_ms) = self.answers.now_ms().filter(|_| self.deadline.is_some()) else {
            return;
        };
        self.add_pause(now_ms, "later, now");
        if let Some(deadline) = self.deadline {
            self.rows.push(Row::Expiry(deadline.text(false)));
        }
    }

    /// Adds the time between the last call and `until`, and the deadline, if that is over.
    fn add_pause(&mut self, until: i64, later: &str) {
        if let Some(over) = self.deadline.take_if(|deadline| deadline.at <= until) {
            self.rows.push(Row::Expiry(over.text(true)));
        }
        if let Some(last) = self.last_ended_at {
            let pause_ms = until - last;
            if pause_ms >= PAUSE_MS {
                let text = format!("{} {later}", labels::duration(pause_ms));
                self.rows.push(Row::Pause(text));
            }
        }
    }

    /// Adds the messages that must have led to this call.
    fn infer_before(&mut self, call: &CallEvents) {
        use Participant::{Browser, Consumer, Provider};
        match call.operation() {
            Some("POST /v1/login/session") => {
                self.infer(call, "start", Browser, Consumer, "wants to sign in");
            }
            Some("GET /login/{handle}") if !self.was_sent_to_broker => {
                self.infer(call, "leave", Consumer, Browser, "go to authorization_url");
                self.was_sent_to_broker = true;
            }
            Some("GET /authorize") if !self.was_sent_to_broker => {
                self.infer(call, "start", Browser, Consumer, "wants to sign in");
                self.infer(call, "leave", Consumer, Browser, "go to /authorize");
                self.was_sent_to_broker = true;
            }
            Some("GET /callback/{provider}") if self.is_at_provider => {
                let label = "go to the broker's callback";
                self.infer(call, "return", Provider, Browser, label);
                self.is_at_provider = false;
            }
            _ => {}
        }
    }

    fn add_request(&mut self, call: &CallEvents) {
        let Some(event) = call.answered.or(call.faulted) else {
            return;
        };
        let arrives = call.answered.is_some();
        self.rows.push(Row::Arrow(Arrow {
            id: format!("{}-request", call.id()),
            from: participant(event.from),
            to: Participant::Broker,
            label: event.operation.clone(),
            detail: None,
            style: if arrives {
                Style::Plain
            } else {
                Style::Faulted
            },
            arrives,
            took: None,
            exchange: Some(event.request_id.clone()),
        }));
    }

    /// Adds the request of the broker to the provider, and the provider's answer.
    fn add_provider_call(&mut self, event: &LoggedEvent) {
        let request = Arrow {
            id: format!("p{}-request", event.seq),
            from: Participant::Broker,
            to: Participant::Provider,
            label: event.operation.clone(),
            detail: None,
            style: Style::Plain,
            arrives: true,
            took: None,
            exchange: provider_exchange::id_of(event),
        };
        let answer = Arrow {
            id: format!("p{}-answer", event.seq),
            from: Participant::Provider,
            to: Participant::Broker,
            label: event.status.map_or("no answer".to_owned(), labels::status),
            detail: None,
            style: match event.status {
                Some(status) if status < 400 => Style::Plain,
                _ => Style::Refused,
            },
            arrives: event.status.is_some(),
            took: event.took_ms.map(Duration::from_millis),
            exchange: provider_exchange::id_of(event),
        };
        self.rows.extend([Row::Arrow(request), Row::Arrow(answer)]);
    }

    fn add_answer(&mut self, call: &CallEvents, event: &LoggedEvent) {
        let fault = call.fault();
        let body = self.answers.body(&event.request_id);
        let Meaning {
            label,
            detail,
            style,
        } = meaning::of(event, body.as_ref());
        let explanation = Note::of_question(event).or_else(|| Note::of_refusal(event));
        self.rows.push(Row::Arrow(Arrow {
            id: format!("{}-answer", call.id()),
            from: Participant::Broker,
            to: participant(event.from),
            label: answer_label(label, fault, self.target(event)),
            detail,
            style: match (call.faulted, &explanation) {
                (Some(_), _) => Style::Faulted,
                (None, Some(note)) => note.style,
                (None, None) => style,
            },
            arrives: !matches!(fault, Some("lose_response" | "truncate" | "silence"))
                && !self.answers.is_held(&event.request_id),
            took: self.answers.took(&event.request_id),
            exchange: Some(event.request_id.clone()),
        }));
        self.rows.extend(explanation.map(Row::Note));
    }

    /// Adds the browser's next step, if it received the answer and was redirected.
    fn infer_after(&mut self, call: &CallEvents) {
        use Participant::{Browser, Consumer, Provider};
        let is_received = |event: &&LoggedEvent| {
            event.is_delivered(call.fault()) && !self.answers.is_held(&event.request_id)
        };
        let Some(event) = call.answered.filter(is_received) else {
            return;
        };
        match self.target(event) {
            Some(RedirectTarget::Provider) => {
                self.infer(call, "provider", Browser, Provider, "the user signs in");
                self.is_at_provider = true;
            }
            Some(RedirectTarget::Callback) => {
                self.infer(call, "callback", Browser, Consumer, callback_label(event));
            }
            None => {}
        }
    }

    /// The redirect target, from the exchange if it is kept.
    fn target(&self, event: &LoggedEvent) -> Option<RedirectTarget> {
        let guess = redirect::guess(event)?;
        let known = self.answers.redirect_target(&event.request_id);
        Some(known.unwrap_or(guess))
    }

    fn infer(
        &mut self,
        call: &CallEvents,
        suffix: &str,
        from: Participant,
        to: Participant,
        label: &str,
    ) {
        self.rows.push(Row::Arrow(Arrow {
            id: format!("{}-{suffix}", call.id()),
            from,
            to,
            label: label.to_owned(),
            detail: None,
            style: Style::Inferred,
            arrives: true,
            took: None,
            exchange: None,
        }));
    }
}

fn participant(name: &str) -> Participant {
    match name {
        "browser" => Participant::Browser,
        "consumer" => Participant::Consumer,
        "broker" => Participant::Broker,
        _ => Participant::Provider,
    }
}
