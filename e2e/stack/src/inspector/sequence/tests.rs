//! Tests of the rows that the builder makes of events.

use super::*;
use crate::event_log::tests::events;
use serde_json::{Value, json};

const SESSION: &str = "session consumer POST /v1/login/session 200 +opened\n";
const VISIT: &str = "visit browser GET /login/{handle} 303\n";
const RESULT: &str = "result consumer POST /v1/login/result 200 +result_consumed\n";

/// The rows of a script, none of whose answers is kept.
fn rows_of(script: &str) -> Vec<Row> {
    rows(&events(script), &no_body, 0)
}

fn no_body(_: &str) -> Option<Value> {
    None
}

/// Every row on a line: `B>K label`, `B~>C` if inferred, `>|` if it breaks off.
fn drawn(rows: &[Row]) -> Vec<String> {
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

#[track_caller]
fn draws(script: &str, expected: &str) {
    let expected: Vec<_> = expected.trim().lines().map(str::trim).collect();
    assert_eq!(drawn(&rows_of(script)), expected);
}

#[test]
fn a_clean_login_is_drawn_with_the_unseen_messages_inferred() {
    draws(
        "session consumer POST /v1/login/session 200 +opened
         visit broker GET discovery 200
         visit browser GET /login/{handle} 303 +bound
         back broker POST token 200
         back browser GET /callback/{provider} 303 +upstream_login_consumed +completed
         result consumer POST /v1/login/result 200 +result_consumed",
        "B~>C wants to sign in
         C>K POST /v1/login/session
         + opened
         K>C 200 authorization_url
         C~>B go to authorization_url
         B>K GET /login/{handle}
         K>P GET discovery
         P>K 200 OK
         + bound
         K>B 303 to the provider
         B~>P the user signs in
         P~>B go to the broker's callback
         B>K GET /callback/{provider}
         K>P POST token
         P>K 200 OK
         + upstream_login_consumed completed
         K>B 303 back to the app
         B~>C callback, no parameters
         C>K POST /v1/login/result
         + result_consumed
         K>C 200 OK",
    );
}

#[test]
fn a_legacy_login_takes_code_or_error_to_the_callback() {
    for (steps, callback) in [
        ("+upstream_login_consumed +code_issued", "?code&state"),
        ("+upstream_login_consumed", "?error&state"),
    ] {
        let rows = drawn(&rows_of(&format!(
            "start browser GET /authorize 303
             back browser GET /callback/{{provider}} 303 {steps}"
        )));
        let beginning = [
            "B~>C wants to sign in",
            "C~>B go to /authorize",
            "B>K GET /authorize",
            "K>B 303 to the provider",
        ];
        assert_eq!(rows[..4], beginning);
        assert!(
            rows.contains(&format!("B~>C callback{callback}")),
            "{rows:?}"
        );
    }
}

#[test]
fn a_redirect_target_is_read_from_the_answer_if_that_is_kept() {
    struct LeadsBack;
    impl Answers for LeadsBack {
        fn body(&self, _: &str) -> Option<Value> {
            None
        }

        fn leads_to_provider(&self, _: &str) -> Option<bool> {
            Some(false)
        }
    }
    let rows = drawn(&rows(&events(VISIT), &LeadsBack, 0));
    assert_eq!(rows[2..], ["K>B 303 back to the app", "B~>C the callback"]);
}

#[test]
fn an_answer_says_what_it_means() {
    use Style::{Plain, Refused, Succeeded};
    let result = "POST /v1/login/result";
    let pending = json!({ "status": "pending" });
    let failed = json!({ "status": "failed", "error": "access_denied" });
    let succeeded = json!({ "status": "succeeded", "profile": { "name": "Ada" } });
    let profile = json!({ "name": null, "username": "ada" });
    let token = json!({ "expires_in": 900 });
    let valid = "valid for 900 s";
    for (operation, body, label, detail, style) in [
        (result, pending, "200 pending", "", Plain),
        (result, failed, "200 failed", "access_denied", Refused),
        (result, succeeded, "200 succeeded", "Ada", Succeeded),
        ("GET /v1/profile", profile, "200 profile", "ada", Succeeded),
        ("POST /v1/token", token, "200 access_token", valid, Plain),
    ] {
        let events = events(&format!("call consumer {operation} 200"));
        let rows = rows(&events, &|_: &str| Some(body.clone()), 0);
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
        let asked = format!("visit browser {operation} 200 rule=relay.start_origin");
        let rows = rows_of(&asked);
        let is_refused = |row: &Row| match row {
            Row::Arrow(arrow) => arrow.style == Style::Refused,
            Row::Note(note) => note.style == Style::Refused,
            _ => false,
        };
        assert!(!rows.iter().any(is_refused), "{rows:?}");
        let question = "! ? The user is asked whether they started this sign-in";
        let end = ["K>B 200 confirmation page", question];
        assert!(drawn(&rows).ends_with(&end.map(str::to_owned)), "{rows:?}");
    }
}

#[test]
fn a_refusal_shows_rule_source_and_advice() {
    let mut refused = events("again consumer POST /v1/login/result 400 rule=result.once");
    Arc::make_mut(&mut refused[0]).why = Some("it was read before");
    let rows = rows(&refused, &no_body, 0);
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
    let rule = "result.once: A terminal result is consumed by the first read. \
                Source: the specification, “POST /v1/login/result, rule 2”.";
    assert_eq!(note.rule.as_deref(), Some(rule));
    assert_eq!(note.advice, Some(contract::Rule::ResultOnce.advice()));
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
        let call = RESULT.trim();
        let rows = rows_of(&format!("{call}\n{call} fault={fault}"));
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
        let drawn = (answer.arrives, answer.style);
        assert_eq!(drawn, (arrives, Style::Faulted), "{fault}");
        assert!(note.title.ends_with(fault), "{}", note.title);
        let committed = note.sentences.last().expect("what was committed");
        assert!(committed.contains("cannot be read again"), "{committed}");
    }
}

#[test]
fn a_refused_connection_never_reaches_the_broker() {
    let refused = "call consumer POST /v1/token - fault=refuse";
    draws(
        refused,
        "C>|K POST /v1/token
         ! ⚡ Fault injected: refuse",
    );
    let Some(Row::Note(note)) = rows_of(refused).pop() else {
        panic!("a note is last");
    };
    assert_eq!(note.sentences[1], "The broker had stored nothing.");
}

#[test]
fn a_browser_that_lost_or_left_a_late_answer_goes_nowhere() {
    for (fault, is_received, goes_on) in [
        ("lose_response", false, false),
        ("delay", false, false),
        ("delay", true, true),
        ("drip", false, false),
        ("drip", true, true),
    ] {
        let events = events(&format!("{VISIT}{} fault={fault}", VISIT.trim()));
        events[0].receipt.set(is_received);
        let rows = drawn(&rows(&events, &no_body, 0));
        let is_at_provider = rows.iter().any(|row| row.starts_with("B~>P"));
        assert_eq!(is_at_provider, goes_on, "{fault}: {rows:?}");
    }
}

#[test]
fn a_resend_has_a_note_and_a_provider_that_does_not_answer_is_drawn() {
    draws(
        "again consumer POST /v1/login/result - resend
         back broker POST token -",
        "! ↻ POST /v1/login/result is sent again
         K>P POST token
         P>|K no answer",
    );
}

#[test]
fn a_long_time_between_two_calls_is_drawn() {
    for (at, is_long) in [(20, false), (600_010, true)] {
        let rows = drawn(&rows_of(&format!("{SESSION}{} at={at}", RESULT.trim())));
        let pauses: Vec<_> = rows.iter().filter(|row| row.starts_with('…')).collect();
        let expected: &[&str] = if is_long {
            &["… 10 minutes later"]
        } else {
            &[]
        };
        assert_eq!(pauses, expected);
    }
}

#[test]
fn an_arrow_keeps_its_id_while_its_call_goes_on() {
    let first = "back broker POST token 200\n";
    let whole = format!("{first}back browser GET /callback/{{provider}} 303");
    let ids = |script: &str| {
        let rows = rows_of(script).into_iter();
        let ids = rows.filter_map(|row| match row {
            Row::Arrow(arrow) => Some(arrow.id),
            _ => None,
        });
        ids.collect::<Vec<_>>()
    };
    let (early, mut late) = (ids(first), ids(&whole));
    assert!(
        early.iter().all(|id| late.contains(id)),
        "{early:?} {late:?}"
    );
    let count = late.len();
    late.sort();
    late.dedup();
    assert_eq!(late.len(), count);
}

#[test]
fn the_time_at_which_a_login_expires_is_drawn_until_it_has_an_outcome() {
    let expires = "⌛ The login expires at 00:10:00, 600 s after it began";
    let expired = "⌛ The login expired at 00:10:00, 600 s after it began";
    let late = "late browser GET /callback/{provider} 400 at=700010";
    for (now_s, more, expected) in [
        (1, "", &[expires][..]),
        (599, "", &["… 9 minutes 59 seconds later, now", expires]),
        (600, "", &[expired, "… 10 minutes later, now"]),
        (701, late, &[expired, "… 11 minutes 40 seconds later"]),
        (900, RESULT, &[]),
    ] {
        let events = events(&format!("{SESSION}{more}"));
        let now_ms = events[0].at + now_s * 1000;
        let mut of_time = drawn(&rows(&events, &no_body, now_ms));
        of_time.retain(|row| row.starts_with(['…', '⌛']));
        assert_eq!(of_time, expected, "{now_s}");
    }
}
