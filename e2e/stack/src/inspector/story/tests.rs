use super::*;
use crate::logbook::Source;

/// An event of a clean login that went well; each test says what is special.
fn event(seq: u64, request_id: &str, from: &'static str, operation: &str) -> Event {
    Event {
        seq,
        at: i64::try_from(seq).unwrap() * 10,
        source: Source::AuditLog,
        request_id: request_id.to_owned(),
        from,
        to: "broker",
        operation: operation.to_owned(),
        project: Some("demo".to_owned()),
        login: Some("aLogin".to_owned()),
        provenance: None,
        status: Some(200),
        rule: None,
        says: None,
        law: None,
        advice: None,
        why: None,
        committed: false,
        steps: Vec::new(),
        fault: None,
        resend: false,
    }
}

fn steps(event: Event, steps: &[&'static str]) -> Event {
    Event {
        committed: true,
        steps: steps.to_vec(),
        ..event
    }
}

fn asked(seq: u64, request_id: &str, operation: &str) -> Event {
    Event {
        to: "google",
        ..event(seq, request_id, "broker", operation)
    }
}

fn struck(call: &Event, fault: &'static str, status: Option<u16>) -> Event {
    Event {
        seq: call.seq + 1,
        source: Source::Wire,
        status,
        why: Some("something happens"),
        fault: Some(fault),
        ..call.clone()
    }
}

fn redirected(event: Event) -> Event {
    Event {
        status: Some(303),
        ..event
    }
}

fn session() -> Event {
    steps(
        event(1, "session", "consumer", "POST /v1/login/session"),
        &["opened"],
    )
}

fn result() -> Event {
    steps(
        event(9, "result", "consumer", "POST /v1/login/result"),
        &["result_consumed"],
    )
}

fn told(events: &[Event]) -> Vec<Row> {
    let events: Vec<_> = events.iter().cloned().map(Arc::new).collect();
    tell(&events, &|_| None)
}

/// Every row on a line: `B>K words`, `B~>C` if inferred, `>|` if it breaks off.
fn script(rows: &[Row]) -> Vec<String> {
    let letter = |party| match party {
        Party::Browser => 'B',
        Party::Consumer => 'C',
        Party::Broker => 'K',
        Party::Provider => 'P',
    };
    let line = |row: &Row| match row {
        Row::Arrow(arrow) => {
            let shaft = if arrow.mood == Mood::Inferred {
                "~"
            } else {
                ""
            };
            let end = if arrow.arrives { "" } else { "|" };
            let (from, to) = (letter(arrow.from), letter(arrow.to));
            format!("{from}{shaft}>{end}{to} {}", arrow.words)
        }
        Row::Committed(steps) => format!("+ {}", steps.join(" ")),
        Row::Aside(aside) => format!("! {}", aside.title),
        Row::Pause(words) => format!("… {words}"),
    };
    rows.iter().map(line).collect()
}

#[test]
fn a_clean_login_is_drawn_with_what_nobody_saw_inferred() {
    let rows = told(&[
        session(),
        asked(2, "visit", "GET discovery"),
        redirected(steps(
            event(3, "visit", "browser", "GET /login/{handle}"),
            &["bound"],
        )),
        asked(4, "back", "POST token"),
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
        "B~>P the person signs in",
        "P~>B go to the broker's callback",
        "B>K GET /callback/{provider}",
        "K>P POST token",
        "P>K 200 OK",
        "+ upstream_login_consumed completed",
        "K>B 303 home",
        "B~>C the callback, bare",
        "C>K POST /v1/login/result",
        "+ result_consumed",
        "K>C 200 OK",
    ];
    assert_eq!(script(&rows), expected);
}

#[test]
fn a_legacy_login_takes_code_or_error_home() {
    let start = redirected(event(1, "start", "browser", "GET /authorize"));
    let back = redirected(event(2, "back", "browser", "GET /callback/{provider}"));
    for (committed, home) in [
        (
            ["upstream_login_consumed", "code_issued"].as_slice(),
            "B~>C callback?code=…&state=…",
        ),
        (
            &["upstream_login_consumed"],
            "B~>C callback?error=…&state=…",
        ),
    ] {
        let rows = script(&told(&[start.clone(), steps(back.clone(), committed)]));
        let beginning = [
            "B~>C wants to sign in",
            "C~>B go to /authorize",
            "B>K GET /authorize",
            "K>B 303 to the provider",
        ];
        assert_eq!(rows[..4], beginning);
        assert_eq!(rows.last().map(String::as_str), Some(home));
    }
}

#[test]
fn where_a_browser_is_sent_is_read_from_the_answer_if_that_is_known() {
    let visit = redirected(event(1, "visit", "browser", "GET /login/{handle}"));
    let rows = tell(&[Arc::new(visit)], &|id| {
        assert_eq!(id, "visit");
        Some(Destination::Home)
    });
    let rows = script(&rows);
    assert_eq!(rows[2..], ["K>B 303 home", "B~>C the callback"]);
}

#[test]
fn a_refusal_says_rule_law_and_advice() {
    let refused = Event {
        status: Some(400),
        rule: Some("result.once"),
        says: Some("a result is read once"),
        law: Some("SPEC somewhere".to_owned()),
        advice: Some("Start anew."),
        why: Some("it was read before"),
        ..event(1, "again", "consumer", "POST /v1/login/result")
    };
    let rows = told(&[refused]);
    let [Row::Arrow(asks), Row::Arrow(answer), Row::Aside(aside)] = &rows[..] else {
        panic!("{rows:?}");
    };
    assert_eq!(asks.mood, Mood::Plain);
    assert_eq!(
        (answer.mood, answer.words.as_str()),
        (Mood::Refused, "400 Bad Request")
    );
    assert_eq!(answer.exchange.as_deref(), Some("again"));
    assert_eq!(aside.title, "✕ Refused: result.once");
    assert_eq!(
        aside.says,
        ["A result is read once.", "It was read before."]
    );
    assert_eq!(aside.law.as_deref(), Some("SPEC somewhere"));
    assert_eq!(aside.advice, Some("Start anew."));
}

#[test]
fn a_lost_answer_breaks_off_and_what_was_committed_is_said() {
    for (fault, arrives) in [
        ("lose_response", false),
        ("truncate", false),
        ("html_502", true),
        ("html_200", true),
        ("delay", true),
    ] {
        let rows = told(&[result(), struck(&result(), fault, None)]);
        let [
            Row::Arrow(asks),
            Row::Committed(_),
            Row::Arrow(answer),
            Row::Aside(aside),
        ] = &rows[..]
        else {
            panic!("{rows:?}");
        };
        assert!(asks.arrives, "{fault}");
        assert_eq!(
            (answer.arrives, answer.mood),
            (arrives, Mood::Struck),
            "{fault}"
        );
        assert!(aside.title.ends_with(fault), "{}", aside.title);
        let committed = aside.says.last().expect("what was committed");
        assert!(committed.contains("cannot be read again"), "{committed}");
    }
}

#[test]
fn a_refused_connection_never_reaches_the_broker() {
    let call = event(1, "wire-1", "consumer", "POST /v1/token");
    let rows = told(&[struck(&call, "refuse", None)]);
    assert_eq!(
        script(&rows),
        ["C>|K POST /v1/token", "! ⚡ The wire strikes: refuse"]
    );
    let Row::Aside(aside) = &rows[1] else {
        panic!("{rows:?}");
    };
    assert_eq!(aside.says[1], "Nothing was committed.");
}

#[test]
fn a_browser_that_lost_the_answer_goes_nowhere() {
    let visit = redirected(event(1, "visit", "browser", "GET /login/{handle}"));
    let rows = script(&told(&[
        visit.clone(),
        struck(&visit, "lose_response", None),
    ]));
    assert!(!rows.iter().any(|row| row.starts_with("B~>P")), "{rows:?}");
    let late = script(&told(&[visit.clone(), struck(&visit, "delay", Some(303))]));
    assert!(late.iter().any(|row| row.starts_with("B~>P")), "{late:?}");
}

#[test]
fn a_call_that_comes_again_is_announced() {
    let again = Event {
        source: Source::Wire,
        status: None,
        why: Some("the same call again"),
        resend: true,
        ..event(3, "wire-1", "consumer", "POST /v1/login/result")
    };
    let rows = script(&told(&[result(), again]));
    assert_eq!(
        rows.last().map(String::as_str),
        Some("! ↻ POST /v1/login/result comes again")
    );
}

#[test]
fn a_provider_that_does_not_answer_is_seen() {
    let silent = Event {
        status: None,
        ..asked(1, "back", "POST token")
    };
    assert_eq!(
        script(&told(&[silent])),
        ["K>P POST token", "P>|K no answer"]
    );
}

#[test]
fn a_long_time_between_two_calls_is_said() {
    let late = Event {
        at: session().at + 600_000,
        ..result()
    };
    let rows = script(&told(&[session(), late]));
    assert!(rows.contains(&"… 10 minutes later".to_owned()), "{rows:?}");
    assert!(
        !script(&told(&[session(), result()]))
            .iter()
            .any(|row| row.starts_with('…'))
    );
}

#[test]
fn an_arrow_keeps_its_name_while_its_call_goes_on() {
    let first = asked(4, "back", "POST token");
    let whole = [
        first.clone(),
        event(5, "back", "browser", "GET /callback/{provider}"),
    ];
    let names = |rows: &[Row]| {
        let arrows = rows.iter().filter_map(|row| match row {
            Row::Arrow(arrow) => Some(arrow.id.clone()),
            _ => None,
        });
        arrows.collect::<Vec<_>>()
    };
    let (early, late) = (names(&told(&[first])), names(&told(&whole)));
    assert!(
        early.iter().all(|id| late.contains(id)),
        "{early:?} {late:?}"
    );
    let mut unique = late.clone();
    unique.sort();
    unique.dedup();
    assert_eq!(unique.len(), late.len());
}
