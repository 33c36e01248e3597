//! The rows of a login's sequence diagram, computed from its events: messages, committed
//! steps, and notes about refusals and faults. Pure; `layout` places the rows.

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use broker::audit::Step;
use contract::LoginLifetime;

use super::rows::{Arrow, Expiry, Note, Participant, Row};
use crate::event_log::LoggedEvent;
use crate::facts::meaning::{
    Answers, CallEvents, CallOrResend, Meaning, Planned, calls_in, meaning,
};
use crate::facts::{self, Call, Fact, Style};
use crate::faults::Fault;
use crate::labels;

/// The time between two calls from which on a pause is drawn.
const PAUSE_MS: i64 = 30_000;

/// The number of calls that are drawn, and of the first ones among them.
const MAX_RUNS: usize = 80;
const FIRST_RUNS: usize = 10;

/// The number of calls from which on they are one row, between two others that are like them.
const MIN_FOLDED: usize = 2;

/// The rows of `events`, which belong to one login, at the time `now_ms`.
pub(crate) fn rows(events: &[Arc<LoggedEvent>], answers: &dyn Answers, now_ms: i64) -> Vec<Row> {
    let mut builder = SequenceBuilder {
        rows: Vec::new(),
        answers,
        last_ended_at: None,
        deadline: deadline(events),
        planned: planned(events, answers),
        was_sent_to_broker: false,
        is_at_provider: false,
    };
    let items = calls_in(events);
    let runs: Vec<_> = items.chunk_by(CallOrResend::is_like).collect();
    let omitted = runs.len().saturating_sub(MAX_RUNS);
    for (index, run) in runs.iter().enumerate() {
        if index == FIRST_RUNS && omitted > 0 {
            let text = format!("{omitted} calls are left out here");
            builder.rows.push(Row::Pause(text));
        }
        if !(FIRST_RUNS..FIRST_RUNS + omitted).contains(&index) {
            builder.add_run(run);
        }
    }
    builder.end(now_ms);
    builder.rows
}

/// The id by which a page names the exchange of a call to a provider; `None` of a call for a
/// document that is the same for every login.
pub(super) fn provider_exchange_id(event: &LoggedEvent) -> Option<String> {
    match Call::of(event) {
        Call::Discovery | Call::Keys => None,
        _ => Some(format!("p{}", event.seq)),
    }
}

/// The steps after which a login no longer expires: its outcome was read or redeemed.
const ENDS: [Step; 3] = [Step::ResultConsumed, Step::CodeIssued, Step::CodeRedeemed];

/// The time at which the login expires that `events` are about; `None` if they are about no
/// login, or it has no deadline any more.
fn deadline(events: &[Arc<LoggedEvent>]) -> Option<i64> {
    events.first()?.login.as_ref()?;
    let at = facts::begun_at(events.iter().map(AsRef::as_ref))? + LoginLifetime::MS;
    let ends = |event: &Arc<LoggedEvent>| {
        event.at <= at && ENDS.into_iter().any(|end| event.has_step(end))
    };
    (!events.iter().any(ends)).then_some(at)
}

/// The planned misbehaviour of the provider of the login that `events` are about.
fn planned(events: &[Arc<LoggedEvent>], answers: &dyn Answers) -> Option<Planned> {
    answers.planned(events.first()?.login.as_deref()?)
}

/// Builds the rows of one login, call by call, and infers the messages between the calls.
struct SequenceBuilder<'a> {
    rows: Vec<Row>,
    answers: &'a dyn Answers,
    last_ended_at: Option<i64>,
    /// Until its line is drawn.
    deadline: Option<i64>,
    /// Until its note is drawn.
    planned: Option<Planned>,
    /// Whether the consumer has sent the browser to the broker.
    was_sent_to_broker: bool,
    is_at_provider: bool,
}

impl SequenceBuilder<'_> {
    /// Adds calls that are alike; of many of them, the first and the last.
    fn add_run(&mut self, run: &[CallOrResend]) {
        match run {
            [first, folded @ .., last] if folded.len() >= MIN_FOLDED => {
                self.add_item(first);
                self.fold(folded);
                self.add_item(last);
            }
            _ => run.iter().for_each(|item| self.add_item(item)),
        }
    }

    fn add_item(&mut self, item: &CallOrResend) {
        match item {
            CallOrResend::Call(call) => self.add(call),
            CallOrResend::Resend(event) => self.add_note(Note::of_resend(event)),
        }
    }

    fn fold(&mut self, calls: &[CallOrResend]) {
        let [CallOrResend::Call(first), .., CallOrResend::Call(last)] = calls else {
            return;
        };
        self.last_ended_at = Some(last.ended_at());
        let took = labels::duration(last.ended_at() - first.started_at());
        let text = format!("the same call and answer × {}, over {took}", calls.len());
        self.rows.push(Row::Pause(text));
    }

    /// Adds a note; what was explained above is not explained again.
    fn add_note(&mut self, note: Note) {
        let is_known = self
            .rows
            .iter()
            .any(|row| matches!(row, Row::Note(it) if *it == note));
        let note = if is_known { note.again() } else { note };
        self.rows.push(Row::Note(note));
    }

    fn add(&mut self, call: &CallEvents) {
        self.add_pause(call.started_at(), "later");
        self.last_ended_at = Some(call.ended_at());
        self.infer_before(call);
        self.add_request(call);
        for event in &call.provider_calls {
            self.add_provider_call(event);
        }
        let answered = call.answered;
        let answered = answered.map(|event| (event, meaning(event, self.answers)));
        if let Some((event, meaning)) = &answered {
            if event.committed {
                self.rows.push(Row::Committed(event.steps.clone()));
            }
            self.add_answer(call, event, meaning);
        }
        if let Some(event) = call.faulted {
            self.add_note(Note::of_fault(event));
        }
        if let Some((event, meaning)) = &answered {
            self.infer_after(call, event, meaning.fact);
        }
    }

    /// Adds what time has brought since the last call: for a login without an outcome, until
    /// now.
    fn end(&mut self, now_ms: i64) {
        if self.deadline.is_none() {
            return;
        }
        self.add_pause(now_ms, "later, now");
        if let Some(deadline) = self.deadline {
            self.add_expiry("expires", deadline);
        }
    }

    /// Adds the time between the last call and `until`, and the deadline, if that is over.
    fn add_pause(&mut self, until: i64, later: &str) {
        if let Some(over) = self.deadline.take_if(|deadline| *deadline <= until) {
            self.add_expiry("expired", over);
        }
        let pause_ms = self.last_ended_at.map(|last| until - last);
        if let Some(pause_ms) = pause_ms.filter(|it| *it >= PAUSE_MS) {
            let text = format!("{} {later}", labels::duration(pause_ms));
            self.rows.push(Row::Pause(text));
        }
    }

    fn add_expiry(&mut self, expires: &str, deadline: i64) {
        let time = labels::time_of_day(deadline);
        let lifetime = LoginLifetime::SECONDS;
        let text = format!("The login {expires} at {time}, {lifetime} s after it began");
        let is_over = expires == "expired";
        self.rows.push(Row::Expiry(Expiry { text, is_over }));
    }

    /// Adds the messages that must have led to this call.
    fn infer_before(&mut self, call: &CallEvents) {
        match call.call() {
            Some(Call::StartLogin) => self.infer(call, Fact::WantsToSignIn),
            Some(Call::Visit) if !self.was_sent_to_broker => {
                self.infer(call, Fact::GoesToAddress);
                self.was_sent_to_broker = true;
            }
            Some(Call::Authorize) if !self.was_sent_to_broker => {
                self.infer(call, Fact::WantsToSignIn);
                self.infer(call, Fact::GoesToAuthorize);
                self.was_sent_to_broker = true;
            }
            Some(Call::Return) if self.is_at_provider => {
                self.infer(call, Fact::GoesToBroker);
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
        let id = format!("{}-request", call.id());
        self.rows.push(Row::Arrow(Arrow {
            sentence: match arrives {
                true => Call::of(event).sentence(),
                false => "The call has not reached the broker.",
            },
            style: match arrives {
                true => Style::Plain,
                false => Style::Faulted,
            },
            arrives,
            exchange: Some(event.request_id.clone()),
            ..Arrow::plain(
                id,
                Participant::named(event.from),
                Participant::Broker,
                &event.operation,
            )
        }));
    }

    /// Adds the request of the broker to the provider, and the provider's answer.
    fn add_provider_call(&mut self, event: &LoggedEvent) {
        use Participant::{Broker, Provider};
        let id = |half| format!("p{}-{half}", event.seq);
        let request = Arrow {
            sentence: Call::of(event).sentence(),
            exchange: provider_exchange_id(event),
            ..Arrow::plain(id("request"), Broker, Provider, &event.operation)
        };
        let fact = meaning(event, self.answers).fact;
        let texts = fact.labels();
        let label = event.status.map_or(texts.label.to_owned(), labels::status);
        let answer = Arrow {
            sentence: match fact {
                Fact::ProviderAnswered => Call::of(event).answered(),
                _ => texts.sentence,
            },
            style: texts.style,
            arrives: event.status.is_some(),
            took: event.took_ms.map(Duration::from_millis),
            exchange: provider_exchange_id(event),
            ..Arrow::plain(id("answer"), Provider, Broker, label)
        };
        self.rows.extend([Row::Arrow(request), Row::Arrow(answer)]);
    }

    fn add_answer(&mut self, call: &CallEvents, event: &LoggedEvent, meaning: &Meaning) {
        let texts = meaning.fact.labels();
        let status = event.status.map(labels::status).unwrap_or_default();
        let label = match (texts.label, event.status) {
            ("", _) | (_, None) => status,
            (label, Some(status)) => format!("{status} {label}"),
        };
        let fault = call.fault();
        let (label, arrives) = fault.map_or((label.clone(), true), |it| facts::faulted(&label, it));
        let is_held = self.answers.is_held(&event.request_id);
        let note = match event.is_question() {
            true => Some(Note::of_question(event)),
            false => Note::of_refusal(event),
        };
        let note = note.map(|note| note.beside(self.answers.compared(event)));
        let id = format!("{}-answer", call.id());
        self.rows.push(Row::Arrow(Arrow {
            detail: meaning.subject.clone(),
            sentence: match arrives && !is_held {
                true if fault.is_some_and(Fault::replaces_answer) => {
                    "Another answer arrives in the place of the broker’s."
                }
                true => texts.sentence,
                false if is_held => "The broker has answered, and a fault holds the answer back.",
                false => {
                    "The broker answers, but the answer never arrives. The caller can’t know what happened."
                }
            },
            style: match (call.faulted, &note) {
                (Some(_), _) => Style::Faulted,
                (None, Some(note)) => note.style,
                (None, None) => texts.style,
            },
            arrives: arrives && !is_held,
            took: self.answers.took(&event.request_id),
            exchange: Some(event.request_id.clone()),
            ..Arrow::plain(id, Participant::Broker, Participant::named(event.from), label)
        }));
        note.into_iter().for_each(|note| self.add_note(note));
    }

    /// Adds the browser's next step, if it received the answer and was redirected.
    fn infer_after(&mut self, call: &CallEvents, event: &LoggedEvent, fact: Fact) {
        let is_received =
            event.is_delivered(call.fault()) && !self.answers.is_held(&event.request_id);
        if let Some(next) = fact.next_of(event).filter(|_| is_received) {
            self.infer(call, next);
            self.is_at_provider |= next == Fact::SignsInThere;
            if let Some(planned) = self.planned.take_if(|_| self.is_at_provider) {
                self.add_note(Note::of_planned(planned));
            }
        }
    }

    /// Adds a message that neither broker nor proxy sees, beside a call.
    fn infer(&mut self, call: &CallEvents, fact: Fact) {
        use Participant::{Browser, Consumer, Provider};
        let (suffix, from, to) = match fact {
            Fact::WantsToSignIn => ("start", Browser, Consumer),
            Fact::GoesToAddress | Fact::GoesToAuthorize => ("leave", Consumer, Browser),
            Fact::SignsInThere => ("provider", Browser, Provider),
            Fact::GoesToBroker => ("return", Provider, Browser),
            _ => ("callback", Browser, Consumer),
        };
        let texts = fact.labels();
        let id = format!("{}-{suffix}", call.id());
        self.rows.push(Row::Arrow(Arrow {
            sentence: texts.sentence,
            style: texts.style,
            ..Arrow::plain(id, from, to, texts.label)
        }));
    }
}
