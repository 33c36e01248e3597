//! Tests of the rows that the builder makes of events.

use super::*;
use crate::event_log::EventSource;
use serde_json::json;

/// An event of a successful clean login; each test changes what it is about.
fn event(seq: u64, request_id: &str, from: &'static str, operation: &str) -> LoggedEvent {
    LoggedEvent::example(seq, request_id, from, operation)
}

fn steps(event: LoggedEvent, steps: &[&'static str]) -> LoggedEvent {
    LoggedEvent {
        committed: true,
        steps: steps.to_vec(),
        ..event
    }
}

fn provider_call(seq: u64, request_id: &str, operation: &str) -> LoggedEvent {
    LoggedEvent {
        to: "google",
        ..event(seq, request_id, "broker", operation)
    }
}

fn faulted(call: &LoggedEvent, fault: &'static str, status: Option<u16>) -> LoggedEvent {
    LoggedEvent {
        seq: call.seq + 1,
        source: EventSource::Proxy,
        status,
        why: Some("something happens"),
        fault: Some(fault),
        ..call.clone()
    }
}

fn redirected(event: LoggedEvent) -> LoggedEvent {
    LoggedEvent {
        status: Some(303),
        ..event
    }
}

fn session() -> LoggedEvent {
    steps(
        event(1, "session", "consumer", "POST /v1/login/session"),
        &["opened"],
    )
}

fn result() -> LoggedEvent {
    steps(
        event(9, "result", "consumer", "POST /v1/login/result"),
        &["result_consumed"],
    )
}

/// What is kept of the answers, and the time.
#[derive(Default)]
struct Kept {
    target: Option<RedirectTarget>,
    body: Option<Value>,
    now_ms: Option<i64>,
}

impl Answers for Kept {
    fn redirect_target(&self, _: &str) -> Option<RedirectTarget> {
        self.target
    }

    fn body(&self, _: &str) -> Option<Value> {
        self.body.clone()
    }

    fn now_ms(&self) -> Option<i64> {
        self.now_ms
    }
}

fn rows_of(events: &[LoggedEvent]) -> Vec<Row> {
    rows_with(events, &Kept::default())
}

fn rows_with(events: &[LoggedEvent], kept: &Kept) -> Vec<Row> {
    let events: Vec<_> = events.iter().cloned().map(Arc::new).collect();
    rows(&events, kept)
}

/// Every row on a line: `B>K label`, `B~>C` if inferred, `>|` if it breaks off.
fn script(rows: &[Row]) -> Vec<String> {
    let letter = |party| match party {
        Participant::Browser => 'B',
        Participant::Consumer => 'C',
        Participant::Broker => 'K',
        Participant::Provider => 'P',
    };
    let line = |row: &Row| match row {
        Row::Arrow(arrow) => {
            let shaft = if arrow.style == Style::Inferred {
                "~"
            } else {
                ""
            };
            let end = if arrow.arrives { "" } else { "|" };
            let (from, to) = (letter(arrow.from), letter(arrow.to));
            format!("{from}{shaft}>{end}{to} {}", arrow.label)
        }
        Row::Committed(steps) => format!("+ {}", steps.join(" ")),
        Row::Note(note) => format!("! {}", note.title),
        Row::Pause(text) => format!("… {text}"),
        Row::Expiry(text) => format!("⌛ {text}"),
    };
    rows.iter().map(line).collect()
}

#[test]
fn a_clean_login_is_drawn_with_the_unseen_messages_inferred() {
    let rows = rows_of(&[
        session(),
        provider_call(2, "visit", "GET discovery"),
        redirected(steps(
            event(3, "visit", "browser", "GET /login/{handle}"),
            &["bound"],
        )),
        provider_call(4, "back", "POST token"),
        redirected(steps(
            event(5, "back", "browser", "GET /callback/{provider}"),
            &["upstream_login_consumed", "completed"],
        )),
        result(),
    ]);
    let expected = [
        "B~>C wants to sign in",
        "C>K POST /v1/login/session",
        "+ opened",
        "K>C 200 OK",
        "C~>B go to authorization_url",
        "B>K GET /login/{handle}",
        "K>P GET discovery",
        "P>K 200 OK",
        "+ bound",
        "K>B 303 to the provider",
        "B~>P the user signs in",
        "P~>B go to the broker's callback",
        "B>K GET /callback/{provider}",
        "K>P POST token",
        "P>K 200 OK",
        "+ upstream_login_consumed completed",
        "K>B 303 back to the app",
        "B~>C callback, no parameters",
        "C>K POST /v1/login/result",
        "+ result_consumed",
        "K>C 200 OK",
    ];
    assert_eq!(script(&rows), expected);
}

#[test]
fn a_legacy_login_takes_code_or_error_to_the_callback() {
    let start = redirected(event(1, "start", "browser", "GET /authorize"));
    let back = redirected(event(2, "back", "browser", "GET /callback/{provider}"));
    for (committed, callback) in [
        (
            ["upstream_login_consumed", "code_issued"].as_slice(),
            "B~>C callback?code&state",
        ),
        (&["upstream_login_consumed"], "B~>C callback?error&state"),
    ] {
        let rows = script(&rows_of(&[start.clone(), steps(back.clone(), committed)]));
        let beginning = [
            "B~>C wants to sign in",
            "C~>B go to /authorize",
            "B>K GET /authorize",
            "K>B 303 to the provider",
        ];
        assert_eq!(rows[..4], beginning);
        assert_eq!(rows.last().map(String::as_str), Some(callback));
    }
}

#[test]
fn a_redirect_target_is_read_from_the_answer_if_that_is_kept() {
    let visit = redirected(event(1, "visit", "browser", "GET /login/{handle}"));
    let kept = Kept {
        target: Some(RedirectTarget::Callback),
        ..Kept::default()
    };
    let rows = script(&rows_with(&[visit], &kept));
    assert_eq!(rows[2..], ["K>B 303 back to the app", "B~>C the callback"]);
}

#[test]
fn an_answer_says_what_it_means() {
    let result = "POST /v1/login/result";
    let failed = json!({ "status": "failed", "error": "access_denied" });
    let succeeded = json!({ "status": "succeeded", "profile": { "name": "Ada" } });
    let profile = json!({ "name": null, "username": "ada" });
    let token = json!({ "expires_in": 900 });
    use Style::{Plain, Refused, Succeeded};
    for (operation, body, label, detail, style) in [
        (
            result,
            json!({ "status": "pending" }),
            "200 pending",
            "",
            Plain,
        ),
        (result, failed, "200 failed", "access_denied", Refused),
        (result, succeeded, "200 succeeded", "Ada", Succeeded),
        ("GET /v1/profile", profile, "200 profile", "ada", Succeeded),
        (
            "POST /v1/token",
            token,
            "200 access_token",
            "valid for 900 s",
            Plain,
        ),
    ] {
        let call = event(1, "call", "consumer", operation);
        let kept = Kept {
            body: Some(body),
            ..Kept::default()
        };
        let rows = rows_with(&[call], &kept);
        let Some(Row::Arrow(answer)) = rows.last() else {
            panic!("{rows:?}");
        };
        let shown = answer.detail.as_deref().unwrap_or_default();
        assert_eq!((answer.label.as_str(), shown), (label, detail));
        assert_eq!(answer.style, style);
    }
}

#[test]
fn a_question_is_no_refusal() {
    for operation in ["GET /login/{handle}", "GET /callback/{provider}"] {
        let asked = LoggedEvent {
            rule: Some("relay.start_origin"),
            happened: Some("The user is asked whether they started this sign-in"),
            says: Some("A sign-in that begins elsewhere needs confirmation"),
            law: Some("KIT-CHOICE".to_owned()),
            provenance: Some("typed"),
            ..event(1, "visit", "browser", operation)
        };
        let rows = rows_of(&[asked]);
        let is_refused = |row: &Row| match row {
            Row::Arrow(arrow) => arrow.style == Style::Refused,
            Row::Note(note) => note.style == Style::Refused,
            _ => false,
        };
        assert!(!rows.iter().any(is_refused), "{rows:?}");
        let script = script(&rows);
        assert!(
            script.contains(&"K>B 200 confirmation page".to_owned()),
            "{script:?}"
        );
        let question = "! ? The user is asked whether they started this sign-in";
        assert_eq!(script.last().map(String::as_str), Some(question));
    }
}

#[test]
fn a_refusal_shows_rule_source_and_advice() {
    let refused = LoggedEvent {
        status: Some(400),
        rule: Some("result.once"),
        happened: Some("The result was read before"),
        says: Some("A result is read once"),
        law: Some("SPEC somewhere".to_owned()),
        advice: Some("Start anew."),
        why: Some("it was read before"),
        ..event(1, "again", "consumer", "POST /v1/login/result")
    };
    let rows = rows_of(&[refused]);
    let [Row::Arrow(request), Row::Arrow(answer), Row::Note(note)] = &rows[..] else {
        panic!("{rows:?}");
    };
    assert_eq!(request.style, Style::Plain);
    assert_eq!(
        (answer.style, answer.label.as_str()),
        (Style::Refused, "400 Bad Request")
    );
    assert_eq!(answer.exchange.as_deref(), Some("again"));
    assert_eq!(note.title, "✕ The result was read before");
    assert_eq!(note.sentences, ["It was read before."]);
    let rule = "result.once: A result is read once. Source: the specification, “somewhere”.";
    assert_eq!(note.rule.as_deref(), Some(rule));
    assert_eq!(note.advice, Some("Start anew."));
}

#[test]
fn a_lost_answer_breaks_off_with_a_note_of_the_committed_steps() {
    for (fault, arrives) in [
        ("lose_response", false),
        ("truncate", false),
        ("html_502", true),
        ("html_200", true),
        ("delay", true),
        ("silence", false),
        ("drip", true),
        ("endless", true),
        ("answer", true),
    ] {
        let rows = rows_of(&[result(), faulted(&result(), fault, None)]);
        let [
            Row::Arrow(request),
            Row::Committed(_),
            Row::Arrow(answer),
            Row::Note(note),
        ] = &rows[..]
        else {
            panic!("{rows:?}");
        };
        assert!(request.arrives, "{fault}");
        assert_eq!(
            (answer.arrives, answer.style),
            (arrives, Style::Faulted),
            "{fault}"
        );
        assert!(note.title.ends_with(fault), "{}", note.title);
        let committed = note.sentences.last().expect("what was committed");
        assert!(committed.contains("cannot be read again"), "{committed}");
    }
}

#[test]
fn a_refused_connection_never_reaches_the_broker() {
    let call = event(1, "proxy-1", "consumer", "POST /v1/token");
    let rows = rows_of(&[faulted(&call, "refuse", None)]);
    assert_eq!(
        script(&rows),
        ["C>|K POST /v1/token", "! ⚡ Fault injected: refuse"]
    );
    let Row::Note(note) = &rows[1] else {
        panic!("{rows:?}");
    };
    assert_eq!(note.sentences[1], "The broker had stored nothing.");
}

#[test]
fn a_browser_that_lost_or_left_a_late_answer_goes_nowhere() {
    let visit = redirected(event(1, "visit", "browser", "GET /login/{handle}"));
    let rows = script(&rows_of(&[
        visit.clone(),
        faulted(&visit, "lose_response", None),
    ]));
    assert!(!rows.iter().any(|row| row.starts_with("B~>P")), "{rows:?}");
    for fault in ["delay", "drip"] {
        for is_received in [false, true] {
            visit.receipt.set(is_received);
            let late = script(&rows_of(&[
                visit.clone(),
                faulted(&visit, fault, Some(303)),
            ]));
            let goes_on = late.iter().any(|row| row.starts_with("B~>P"));
            assert_eq!(goes_on, is_received, "{late:?}");
        }
    }
}

#[test]
fn a_resend_has_a_note() {
    let again = LoggedEvent {
        source: EventSource::Proxy,
        status: None,
        why: Some("the same call again"),
        resend: true,
        ..event(3, "proxy-1", "consumer", "POST /v1/login/result")
    };
    let rows = script(&rows_of(&[result(), again]));
    assert_eq!(
        rows.last().map(String::as_str),
        Some("! ↻ POST /v1/login/result is sent again")
    );
}

#[test]
fn a_provider_that_does_not_answer_is_drawn() {
    let silent = LoggedEvent {
        status: None,
        ..provider_call(1, "back", "POST token")
    };
    assert_eq!(
        script(&rows_of(&[silent])),
        ["K>P POST token", "P>|K no answer"]
    );
}

#[test]
fn a_long_time_between_two_calls_is_drawn() {
    let late = LoggedEvent {
        at: session().at + 600_000,
        ..result()
    };
    let rows = script(&rows_of(&[session(), late]));
    assert!(rows.contains(&"… 10 minutes later".to_owned()), "{rows:?}");
    assert!(
        !script(&rows_of(&[session(), result()]))
            .iter()
            .any(|row| row.starts_with('…'))
    );
}

#[test]
fn an_arrow_keeps_its_id_while_its_call_goes_on() {
    let first = provider_call(4, "back", "POST token");
    let whole = [
        first.clone(),
        event(5, "back", "browser", "GET /callback/{provider}"),
    ];
    let ids = |rows: &[Row]| {
        let arrows = rows.iter().filter_map(|row| match row {
            Row::Arrow(arrow) => Some(arrow.id.clone()),
            _ => None,
        });
        arrows.collect::<Vec<_>>()
    };
    let (early, late) = (ids(&rows_of(&[first])), ids(&rows_of(&whole)));
    assert!(
        early.iter().all(|id| late.contains(id)),
        "{early:?} {late:?}"
    );
    let mut unique = late.clone();
    unique.sort();
    unique.dedup();
    assert_eq!(unique.len(), late.len());
}

#[test]
fn the_time_at_which_a_login_expires_is_drawn_until_it_has_an_outcome() {
    let at = |seconds: i64, events: &[LoggedEvent]| {
        let kept = Kept {
            now_ms: Some(session().at + seconds * 1000),
            ..Kept::default()
        };
        let rows = script(&rows_with(events, &kept));
        let of_time = rows.into_iter().filter(|row| row.starts_with(['…', '⌛']));
        of_time.collect::<Vec<_>>()
    };
    let expires = "⌛ The login expires at 00:10:00, 600 s after it began";
    let expired = "⌛ The login expired at 00:10:00, 600 s after it began";
    assert_eq!(at(1, &[session()]), [expires]);
    assert_eq!(
        at(599, &[session()]),
        ["… 9 minutes 59 seconds later, now", expires]
    );
    assert_eq!(at(600, &[session()]), [expired, "… 10 minutes later, now"]);
    let late = LoggedEvent {
        at: session().at + 700_000,
        ..event(2, "late", "browser", "GET /callback/{provider}")
    };
    assert_eq!(
        at(701, &[session(), late]),
        [expired, "… 11 minutes 40 seconds later"]
    );
    assert_eq!(at(900, &[session(), result()]), [""; 0]);
}
