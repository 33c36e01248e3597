//! The telling: what each call adds to the story, and what must have come between.

use super::calls::{Call, Item};
use super::{Arrow, Aside, Destination, Mood, Party, Row};
use crate::inspector::words;
use crate::logbook::Event;

/// So much time between two calls is worth a word.
const LONG_MS: i64 = 30_000;

/// Tells a story, call by call.
pub(super) struct Teller<'a> {
    pub(super) rows: Vec<Row>,
    leads_to: &'a dyn Fn(&str) -> Option<Destination>,
    last_at: Option<i64>,
    /// Whether the consumer must have sent the browser to the broker.
    was_sent_off: bool,
    /// Whether the browser must be at the provider.
    is_at_provider: bool,
}

impl<'a> Teller<'a> {
    /// Nothing is told yet. `leads_to` is what [`tell`](super::tell) is given.
    pub(super) fn who_knows(leads_to: &'a dyn Fn(&str) -> Option<Destination>) -> Self {
        Self {
            rows: Vec::new(),
            leads_to,
            last_at: None,
            was_sent_off: false,
            is_at_provider: false,
        }
    }

    /// Tells what happened next.
    pub(super) fn goes_on(&mut self, item: &Item) {
        match item {
            Item::Call(call) => self.call(call),
            Item::Resend(event) => self.rows.push(Row::Aside(Aside::of_resend(event))),
        }
    }

    fn call(&mut self, call: &Call) {
        self.pause(call.began_at(), call.ended_at());
        self.lead_up(call);
        self.request(call);
        for asked in &call.asked {
            self.asks_provider(asked);
        }
        if let Some(told) = call.told {
            if told.committed {
                self.rows.push(Row::Committed(told.steps.clone()));
            }
            self.answer(call, told);
        }
        if let Some(fault) = call.struck {
            self.rows.push(Row::Aside(Aside::of_fault(fault)));
        }
        if let Some(destination) = self.destination(call) {
            self.go_on(call, destination);
        }
    }

    fn pause(&mut self, began_at: i64, ended_at: i64) {
        if let Some(last_at) = self.last_at.filter(|last| began_at - last >= LONG_MS) {
            let pause = format!("{} later", words::duration(began_at - last_at));
            self.rows.push(Row::Pause(pause));
        }
        self.last_at = Some(ended_at);
    }

    /// What must have come before this call.
    fn lead_up(&mut self, call: &Call) {
        use Party::{Browser, Consumer, Provider};
        match call.operation() {
            Some("POST /v1/login/session") => {
                self.infer(call, "wish", Browser, Consumer, "wants to sign in");
            }
            Some("GET /login/{handle}") if !self.was_sent_off => {
                self.infer(call, "off", Consumer, Browser, "go to authorization_url");
                self.was_sent_off = true;
            }
            Some("GET /authorize") if !self.was_sent_off => {
                self.infer(call, "wish", Browser, Consumer, "wants to sign in");
                self.infer(call, "off", Consumer, Browser, "go to /authorize");
                self.was_sent_off = true;
            }
            Some("GET /callback/{provider}") if self.is_at_provider => {
                self.infer(
                    call,
                    "back",
                    Provider,
                    Browser,
                    "go to the broker's callback",
                );
                self.is_at_provider = false;
            }
            _ => {}
        }
    }

    fn request(&mut self, call: &Call) {
        let Some(event) = call.told.or(call.struck) else {
            return;
        };
        self.rows.push(Row::Arrow(Arrow {
            id: format!("{}-ask", call.id()),
            from: party(event.from),
            to: Party::Broker,
            words: event.operation.clone(),
            mood: if call.told.is_some() {
                Mood::Plain
            } else {
                Mood::Struck
            },
            arrives: call.told.is_some(),
            exchange: Some(event.request_id.clone()),
        }));
    }

    fn asks_provider(&mut self, asked: &Event) {
        let arrow = |half: &str, from, to, words, mood, arrives| {
            Row::Arrow(Arrow {
                id: format!("p{}-{half}", asked.seq),
                from,
                to,
                words,
                mood,
                arrives,
                exchange: None,
            })
        };
        let (broker, provider) = (Party::Broker, Party::Provider);
        let question = asked.operation.clone();
        self.rows
            .push(arrow("ask", broker, provider, question, Mood::Plain, true));
        let (answer, mood) = match asked.status {
            None => ("no answer".to_owned(), Mood::Refused),
            Some(status) if status < 400 => (words::status(status), Mood::Plain),
            Some(status) => (words::status(status), Mood::Refused),
        };
        let arrives = asked.status.is_some();
        self.rows
            .push(arrow("answer", provider, broker, answer, mood, arrives));
    }

    fn answer(&mut self, call: &Call, told: &Event) {
        let mood = match (call.struck, told.rule) {
            (Some(_), _) => Mood::Struck,
            (None, Some(_)) => Mood::Refused,
            (None, None) => Mood::Plain,
        };
        let fault = call.struck.and_then(|struck| struck.fault);
        self.rows.push(Row::Arrow(Arrow {
            id: format!("{}-answer", call.id()),
            from: Party::Broker,
            to: party(told.from),
            words: words::answer(told, fault, self.destination_of(told)),
            mood,
            arrives: !matches!(fault, Some("lose_response" | "truncate")),
            exchange: Some(told.request_id.clone()),
        }));
        if let Some(aside) = Aside::of_refusal(told) {
            self.rows.push(Row::Aside(aside));
        }
    }

    /// Where the browser goes after this call, if it heard the answer.
    fn destination(&self, call: &Call) -> Option<Destination> {
        let fault = call.struck.and_then(|struck| struck.fault);
        let is_heard = matches!(fault, None | Some("delay"));
        self.destination_of(call.told.filter(|_| is_heard)?)
    }

    fn destination_of(&self, told: &Event) -> Option<Destination> {
        if told.from != "browser" || told.status != Some(303) {
            return None;
        }
        let guess = match told.operation.as_str() {
            "GET /callback/{provider}" => Destination::Home,
            _ if told.rule.is_some() => Destination::Home,
            _ => Destination::Provider,
        };
        Some((self.leads_to)(&told.request_id).unwrap_or(guess))
    }

    fn go_on(&mut self, call: &Call, destination: Destination) {
        use Party::{Browser, Consumer, Provider};
        match destination {
            Destination::Provider => {
                self.infer(call, "there", Browser, Provider, "the person signs in");
                self.is_at_provider = true;
            }
            Destination::Home => {
                let words = call.told.map_or("the callback", words::way_home);
                self.infer(call, "home", Browser, Consumer, words);
            }
        }
    }

    fn infer(&mut self, call: &Call, what: &str, from: Party, to: Party, words: &str) {
        self.rows.push(Row::Arrow(Arrow {
            id: format!("{}-{what}", call.id()),
            from,
            to,
            words: words.to_owned(),
            mood: Mood::Inferred,
            arrives: true,
            exchange: None,
        }));
    }
}

fn party(name: &str) -> Party {
    match name {
        "browser" => Party::Browser,
        "consumer" => Party::Consumer,
        "broker" => Party::Broker,
        _ => Party::Provider,
    }
}
