//! The bounds on recorded exchanges; and events for the tests of what the stack shows.

use std::collections::HashMap;

use broker::audit::Step;
use contract::Rule;
use hyper::header::{CONTENT_TYPE, SET_COOKIE};
use hyper::{Request, Response};

use super::*;
use crate::faults::Fault;

/// The events of a script, one a line: the id of the call, the caller, the operation, and the
/// status or `-`. After that `+STEP`, `rule=ID`, `login=ID`, `at=MS`, `received`; and for an
/// event of the proxy `fault=NAME` or `resend`. A call of the broker goes to Google.
pub(crate) fn events(script: &str) -> Vec<Arc<LoggedEvent>> {
    let lines = script.lines().map(str::trim).filter(|it| !it.is_empty());
    let events = lines.zip(1..).map(|(line, seq)| event(line, seq));
    events.map(Arc::new).collect()
}

fn event(line: &str, seq: u64) -> LoggedEvent {
    let words: Vec<_> = line.split(' ').collect();
    let [id, from, method, path, status, more @ ..] = &words[..] else {
        panic!("{line}");
    };
    let mut parties = ["browser", "consumer", "broker"].into_iter();
    let from = parties.find(|it| it == from).expect(line);
    let mut event = LoggedEvent {
        to: if from == "broker" { "google" } else { "broker" },
        provider: Some("google"),
        status: status.parse().ok(),
        ..LoggedEvent::example(seq, id, from, &format!("{method} {path}"))
    };
    for word in more {
        match word.split_once(['+', '=']).unwrap_or((word, "")) {
            ("", name) => {
                let mut names = Step::ALL.iter().map(|step| step.name());
                event.steps.push(names.find(|it| *it == name).expect(line));
            }
            ("rule", id) => {
                let rule = Rule::ALL.iter().find(|rule| rule.id() == id).expect(line);
                event.rule = Some(rule.id());
                event.happened = Some(rule.happened());
                event.says = Some(rule.sentence());
                event.law = Some(rule.source().to_string());
                event.advice = Some(rule.advice());
            }
            ("login", id) => event.login = Some(id.to_owned()),
            ("at", ms) => event.at = ms.parse().expect(line),
            ("fault", name) => {
                let fault: Fault = name.parse().expect(line);
                event.source = EventSource::Proxy;
                event.fault = Some(fault.name());
                event.why = Some(fault.description());
            }
            ("received", _) => event.receipt.set(true),
            ("resend", _) => {
                event.source = EventSource::Proxy;
                event.resend = true;
            }
            _ => panic!("{line}"),
        }
    }
    event.committed = !event.steps.is_empty();
    event
}

/// The body of the answer to a call, if it is kept.
pub(crate) type BodyOf = Box<dyn Fn(&str) -> Option<Value>>;

/// A login of `logins.txt`.
pub(crate) struct Login {
    pub(crate) title: String,
    pub(crate) events: Vec<Arc<LoggedEvent>>,
    pub(crate) now_ms: i64,
    pub(crate) body: BodyOf,
}

/// The logins of `logins.txt`.
pub(crate) fn logins() -> Vec<Login> {
    let all = include_str!("logins.txt").split("\n== ").skip(1);
    all.map(login).collect()
}

fn login(text: &str) -> Login {
    let (title, lines) = text.split_once('\n').expect("a title");
    let (title, now_ms) = title.split_once(" @").unwrap_or((title, "0"));
    let mut script = String::new();
    let mut bodies: HashMap<String, Value> = HashMap::new();
    for line in lines.lines() {
        let body = line.find(" {\"").or(line.find(" {}")).unwrap_or(line.len());
        let (event, body) = line.split_at(body);
        script += &format!("{event}\n");
        if let (Some((call, _)), false) = (event.split_once(' '), body.is_empty()) {
            let body = serde_json::from_str(body).expect(line);
            bodies.insert(call.to_owned(), body);
        }
    }
    Login {
        title: title.to_owned(),
        events: events(&script),
        now_ms: now_ms.parse().expect(title),
        body: Box::new(move |call| bodies.get(call).cloned()),
    }
}

/// An exchange with these JSON bodies.
fn exchange(number: usize, request_body: &[u8], response_body: &[u8]) -> RecordedExchange {
    let request = Request::post("/v1/token").header(CONTENT_TYPE, "application/json");
    let (request_head, ()) = request.body(()).expect("a request").into_parts();
    let answer = Response::builder()
        .header(CONTENT_TYPE, "application/json")
        .header(SET_COOKIE, "one=1")
        .header(SET_COOKIE, "two=2");
    let (response_head, ()) = answer.body(()).expect("an answer").into_parts();
    RecordedExchange {
        request_id: number.to_string(),
        request: RecordedRequest::new(&request_head, request_body),
        project: None,
        response: Some(RecordedResponse::new(&response_head, response_body)),
        fault: None,
        took: Duration::ZERO,
    }
}

/// A JSON text of about this length, which takes many times that once it is parsed.
fn lists(bytes: usize) -> Vec<u8> {
    format!("[{}[]]", "[],".repeat((bytes - 4) / 3)).into_bytes()
}

#[test]
fn g7_recorded_exchanges_are_bounded_in_bytes_and_the_oldest_are_dropped() {
    let event_log = EventLog::default();
    let body = lists(20_000);
    for number in 0..2_000 {
        event_log.record(exchange(number, &body, &body));
        assert!(event_log.exchange_bytes() <= MAX_EXCHANGE_BYTES);
    }
    assert!(event_log.exchange_bytes() > MAX_EXCHANGE_BYTES / 2);
    assert!(event_log.exchange("0").is_none());
    let newest = event_log.exchange("1999").expect("the newest");
    assert!(newest.answer.expect("an answer").body.is_some());
    event_log.clear();
    assert_eq!(event_log.exchange_bytes(), 0);
}

#[test]
fn g7_small_exchanges_take_little_memory_and_are_bounded_in_number() {
    let event_log = EventLog::default();
    for number in 0..=MAX_EXCHANGES {
        event_log.record(exchange(number, b"{}", b"{}"));
    }
    assert!(event_log.exchange("0").is_none() && event_log.exchange("1").is_some());
    let each = event_log.exchange_bytes() / MAX_EXCHANGES;
    assert!((50..500).contains(&each), "{each} bytes each");
}

#[test]
fn g7_only_the_length_of_a_very_large_body_is_kept() {
    let body = lists(63 * 1024);
    let kept = exchange(1, &body, b"{}");
    assert!(kept.size_bytes() < 500, "{} bytes", kept.size_bytes());
    let says = format!("[{} bytes of application/json]", body.len());
    assert_eq!(kept.masked().request.body, Some(says));
}

#[test]
fn g7_only_the_length_of_a_very_large_head_is_kept() {
    let request = Request::get("/").header("x-large", "a".repeat(60_000));
    let (head, ()) = request.body(()).expect("a request").into_parts();
    let kept = RecordedExchange {
        request: RecordedRequest::new(&head, b""),
        ..exchange(1, b"", b"")
    };
    assert!(kept.size_bytes() < 500, "{} bytes", kept.size_bytes());
    let headers = kept.masked().request.headers;
    assert_eq!(headers.len(), 1);
    assert!(headers[0].1.contains("too many to be kept"), "{headers:?}");
}

#[test]
fn a_header_that_comes_twice_is_shown_twice() {
    let shown = exchange(1, b"{}", b"{}")
        .masked()
        .answer
        .expect("an answer");
    let names: Vec<_> = shown
        .headers
        .iter()
        .map(|(name, _)| name.as_str())
        .collect();
    assert_eq!(names, ["content-type", "set-cookie", "set-cookie"]);
}
