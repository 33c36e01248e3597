//! Tests of the lines that a story makes of events.

use std::collections::HashMap;
use std::sync::Arc;

use contract::{LoginLifetime, Rule};
use serde_json::{Value, json};

use super::page::{self, Panel};
use super::story::{Line, Source, Story, Tone};
use crate::event_log::{EventSource, LoggedEvent};
use crate::login_status::LoginFlow;

/// The events of one login, and the bodies of its answers.
#[derive(Default)]
struct Login {
    events: Vec<Arc<LoggedEvent>>,
    bodies: HashMap<String, Value>,
}

impl Login {
    fn with(mut self, event: LoggedEvent) -> Self {
        self.events.push(Arc::new(event));
        self
    }

    fn with_body(mut self, request_id: &str, body: Value) -> Self {
        self.bodies.insert(request_id.to_owned(), body);
        self
    }

    fn lines_at(&self, now_ms: i64) -> Vec<Line> {
        self.story_at(now_ms).into_lines()
    }

    fn story_at(&self, now_ms: i64) -> Story {
        let source = Source {
            path: "/logins/aLogin".to_owned(),
            now_ms,
            body: Box::new(|request_id| self.bodies.get(request_id).cloned()),
        };
        Story::of(&self.events, &source)
    }
}

fn event(seq: u64, from: &'static str, operation: &str, steps: &[&'static str]) -> LoggedEvent {
    LoggedEvent {
        provider: Some("google"),
        committed: !steps.is_empty(),
        steps: steps.to_vec(),
        status: Some(if from == "browser" { 303 } else { 200 }),
        ..LoggedEvent::example(seq, &format!("r{seq}"), from, operation)
    }
}

fn broke(event: LoggedEvent, rule: Rule, status: u16) -> LoggedEvent {
    LoggedEvent {
        status: Some(status),
        rule: Some(rule.id()),
        happened: Some(rule.happened()),
        advice: Some(rule.advice()),
        ..event
    }
}

fn faulted(call: &LoggedEvent, fault: &'static str) -> LoggedEvent {
    LoggedEvent {
        seq: call.seq + 1,
        source: EventSource::Proxy,
        fault: Some(fault),
        ..call.clone()
    }
}

fn started() -> Login {
    Login::default().with(event(1, "consumer", "POST /v1/login/session", &["opened"]))
}

fn visited() -> Login {
    started().with(event(2, "browser", "GET /login/{handle}", &["bound"]))
}

fn provider_answer() -> LoggedEvent {
    let steps = ["upstream_login_consumed", "completed"];
    event(3, "browser", "GET /callback/{provider}", &steps)
}

fn result(seq: u64) -> LoggedEvent {
    event(
        seq,
        "consumer",
        "POST /v1/login/result",
        &["result_consumed"],
    )
}

/// Compares the place and the beginning of each line.
#[track_caller]
fn check(lines: &[Line], expected: &[&str]) {
    let shown = lines.iter().map(|line| match line.place {
        Some(place) => format!("{place:?}: {}", line.text()),
        None => line.text().to_owned(),
    });
    let shown: Vec<_> = shown.collect();
    assert_eq!(shown.len(), expected.len(), "{shown:#?}");
    for (line, start) in shown.iter().zip(expected) {
        assert!(line.starts_with(start), "{start} in {shown:#?}");
    }
}

#[test]
fn a_clean_sign_in_has_five_lines_with_places_and_arrows() {
    let login = visited().with(provider_answer()).with(result(5));
    let body = json!({ "status": "succeeded", "profile": { "name": "Ada" } });
    let lines = login.with_body("r5", body).lines_at(0);
    check(
        &lines,
        &[
            "DrawKey: We drew a fresh session key.",
            "RegisterKey: We gave it to the broker and got an address",
            "Callback: Your browser went there, you signed in at Google, and it came back with nothing",
            "ReadResultOnce: We asked once for the result and got the profile of Ada. Ask again",
            "SignIn: We signed you in",
        ],
    );
    let arrows: Vec<_> = lines.iter().map(|line| line.arrow.as_deref()).collect();
    let expected = [
        Some("/logins/aLogin?call=r1#c1-request"),
        Some("/logins/aLogin?call=r1#c1-answer"),
        Some("/logins/aLogin?call=r3#c3-answer"),
        Some("/logins/aLogin?call=r5#c5-answer"),
        None,
    ];
    assert_eq!(arrows, expected);
    assert_eq!(lines[4].tone, Tone::Good);
}

#[test]
fn a_legacy_sign_in_tells_state_code_and_token() {
    let login = Login::default()
        .with(event(1, "browser", "GET /authorize", &[]))
        .with(event(
            2,
            "browser",
            "GET /callback/{provider}",
            &["code_issued"],
        ))
        .with(event(3, "consumer", "POST /v1/token", &["code_redeemed"]))
        .with(event(4, "consumer", "GET /v1/profile", &[]))
        .with_body("r4", json!({ "name": null, "username": "ada" }));
    check(
        &login.lines_at(0),
        &[
            "LegacyState: We drew a fresh state and a code verifier.",
            "LegacyAuthorize: We sent your browser to the broker",
            "LegacyCallback: You signed in at Google, and your browser came back with a code",
            "LegacyConsumeState: The state was the one in your session.",
            "LegacyExchange: We exchanged the code and the verifier",
            "LegacyProfile: We read the profile of ada with the token.",
            "SignIn: We signed you in",
        ],
    );
}

#[test]
fn a_cancelled_and_a_forged_answer_say_so() {
    for (rule, error, cause) in [
        (
            Rule::UpstreamDenied,
            "access_denied",
            "You cancelled at Google.",
        ),
        (
            Rule::UpstreamInvalid,
            "invalid_provider_response",
            "The provider's answer does not prove who signed in.",
        ),
    ] {
        let login = visited()
            .with(broke(provider_answer(), rule, 303))
            .with(result(5))
            .with_body("r5", json!({ "status": "failed", "error": error }));
        let lines = login.lines_at(0);
        let told = format!(
            "ResultOutcome: We asked once for the result: {error}. You were not signed in."
        );
        check(&lines[2..], &[&format!("Callback: {cause}"), &told]);
        assert!(lines[2..].iter().all(|line| line.tone == Tone::Bad));
    }
}

#[test]
fn a_lost_result_tells_whether_it_was_used_up() {
    for (committed, had) in [(true, "here it had, so"), (false, "here it had not")] {
        let read = LoggedEvent {
            committed,
            ..result(5)
        };
        let login = visited().with(provider_answer());
        let login = login.with(read.clone()).with(faulted(&read, "truncate"));
        let lines = login.lines_at(0);
        check(
            &lines[3..],
            &[
                "CallLost: We asked once for the result, and the answer did not arrive (fault injected: truncate).",
                "ForgetKey: We did not ask again",
            ],
        );
        assert!(lines[4].text().contains(had), "{}", lines[4].text());
    }
}

#[test]
fn a_refused_call_is_told_with_its_advice() {
    let login = started().with(broke(result(2), Rule::ResultOnce, 400));
    let lines = login.lines_at(0);
    let text = lines[2].text();
    let told = "We asked for the result. The broker refused with 400. The result was read before.";
    assert!(text.starts_with(told), "{text}");
    assert!(text.ends_with(Rule::ResultOnce.advice()), "{text}");
}

#[test]
fn a_login_without_an_answer_is_at_the_provider_until_it_expires() {
    let start = visited().events[0].at;
    let last = start + LoginLifetime::MS - 1;
    check(
        &visited().lines_at(last)[2..],
        &["Redirect: Your browser went to Google, and has not come back."],
    );
    check(
        &visited().lines_at(last + 1)[2..],
        &["CallbackAgain: The login expired ten minutes after its start."],
    );
}

#[test]
fn a_start_that_failed_has_begun_nothing() {
    let call = event(1, "consumer", "POST /v1/login/session", &["opened"]);
    let login = started().with(faulted(&call, "lose_response"));
    let lines = login.lines_at(i64::MAX / 2);
    check(
        &lines,
        &[
            "DrawKey: We drew",
            "CallLost: We gave it to the broker, and the answer did not arrive",
        ],
    );
}

#[test]
fn a_visit_without_a_login_calls_no_broker() {
    for (flow, place) in [
        (LoginFlow::Clean, "CallbackSession"),
        (LoginFlow::Legacy, "LegacyConsumeState"),
    ] {
        let lines = Story::default().without_login(flow).into_lines();
        let told = format!("{place}: Your browser came to our callback");
        check(&lines, &[&told]);
    }
}

#[test]
fn many_reads_of_a_pending_result_are_one_line_and_a_long_story_is_shortened() {
    let pending = |seq| event(seq, "consumer", "POST /v1/login/result", &[]);
    let login = (2..5).fold(started(), |login, seq| login.with(pending(seq)));
    let lines = login.lines_at(0);
    assert!(
        lines[2].text().ends_with("(3 times)"),
        "{}",
        lines[2].text()
    );
    assert_eq!(
        lines[2].arrow.as_deref(),
        Some("/logins/aLogin?call=r4#c4-answer")
    );

    let refused = |seq| broke(result(seq), Rule::ResultOnce, 400);
    let login = (0..20).fold(started(), |login, n| {
        login.with(refused(10 + 2 * n)).with(pending(11 + 2 * n))
    });
    let lines = login.lines_at(0);
    assert_eq!(lines.len(), 11);
    assert_eq!(lines[4].text(), "32 more steps are in the diagram.");
}

#[test]
fn a_panel_escapes_every_name_and_stands_above_the_first_card() {
    let login = visited().with(provider_answer()).with(result(5));
    let name = "<script>alert(1)</script>";
    let body = json!({ "status": "succeeded", "profile": { "name": name } });
    let panel = Panel::of(login.with_body("r5", body).story_at(0)).with_login("aLogin");
    let html = "<head></head><main><h1>Ada</h1><section class=\"card\">…</section></main>";
    let html = page::with_panel(html, "http://127.0.0.1:1", &panel);
    assert!(!html.contains("<script"), "{html}");
    assert!(html.contains("&#60;script&#62;alert(1)"), "{html}");
    assert!(html.contains("href=\"/kit/panel.css\">\n</head>"), "{html}");
    let (panel, card) = (html.find("kit-panel"), html.find("\"card\""));
    assert!(panel < card, "{html}");
    assert!(html.contains("href=\"http://127.0.0.1:1/logins/aLogin?call=r5#c5-answer\""));
}

#[test]
fn a_login_that_is_gone_is_said_to_be_gone() {
    let html = "<head></head><main><div data-problem=\"no_session\"></div></main>";
    let html = page::with_panel(html, "http://127.0.0.1:1", &Panel::gone());
    assert!(html.contains("does not know this login any more"), "{html}");
    assert!(
        html.contains("href=\"http://127.0.0.1:1/\">Inspector"),
        "{html}"
    );
}
