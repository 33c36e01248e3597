//! Tests of the lines that a story makes of events.

use contract::{LoginLifetime, Rule};
use serde_json::{Value, json};

use super::page::{self, Panel};
use super::story::{Line, Source, Story, Tone};
use crate::event_log::tests::events;
use crate::facts::LoginFlow;

const STARTED: &str = "start consumer POST /v1/login/session 200 +opened\n";
const VISITED: &str = "start consumer POST /v1/login/session 200 +opened
                       visit browser GET /login/{handle} 303 +bound\n";
const RETURNED: &str = "start consumer POST /v1/login/session 200 +opened
                        visit browser GET /login/{handle} 303 +bound
                        back browser GET /callback/{provider} 303 +completed\n";
const READ: &str = "read consumer POST /v1/login/result 200";

/// The story of a login at a time, if its last call has this answer.
fn story_at(now_ms: i64, script: &str, body: &Value) -> Story {
    let events = events(script);
    let last = &events.last().expect("an event").request_id;
    let source = Source {
        path: "/logins/aLogin".to_owned(),
        now_ms,
        answers: &|call: &str| (call == last).then(|| body.clone()),
    };
    Story::of(&events, &source)
}

fn lines(script: &str, body: &Value) -> Vec<Line> {
    story_at(0, script, body).into_lines()
}

fn succeeded(name: &str) -> Value {
    json!({ "status": "succeeded", "profile": { "name": name } })
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
    let lines = lines(
        &format!("{RETURNED}{READ} +result_consumed"),
        &succeeded("Ada"),
    );
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
        Some("/logins/aLogin?call=start#c1-request"),
        Some("/logins/aLogin?call=start#c1-answer"),
        Some("/logins/aLogin?call=back#c3-answer"),
        Some("/logins/aLogin?call=read#c4-answer"),
        None,
    ];
    assert_eq!(arrows, expected);
    assert_eq!(lines[4].tone, Tone::Good);
}

#[test]
fn a_legacy_sign_in_tells_state_code_and_token() {
    let script = "start browser GET /authorize 303
                  back browser GET /callback/{provider} 303 +code_issued
                  token consumer POST /v1/token 200 +code_redeemed
                  profile consumer GET /v1/profile 200";
    check(
        &lines(script, &json!({ "name": null, "username": "ada" })),
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
    let forged = "The provider's answer does not prove who signed in.";
    for (rule, error, cause) in [
        ("denied", "access_denied", "You cancelled at Google."),
        ("invalid", "invalid_provider_response", forged),
    ] {
        let back = format!("back browser GET /callback/{{provider}} 303 rule=upstream.{rule}");
        let body = json!({ "status": "failed", "error": error });
        let lines = lines(&format!("{VISITED}{back}\n{READ} +result_consumed"), &body);
        let told = format!(
            "ResultOutcome: We asked once for the result: {error}. You were not signed in."
        );
        check(&lines[2..], &[&format!("Callback: {cause}"), &told]);
        assert!(lines[2..].iter().all(|line| line.tone == Tone::Bad));
    }
}

#[test]
fn a_lost_result_tells_whether_it_was_used_up() {
    for (step, had) in [
        (" +result_consumed", "here it had, so"),
        ("", "here it had not"),
    ] {
        let read = format!("{READ}{step}");
        let script = format!("{RETURNED}{read}\n{read} fault=truncate");
        let lines = lines(&script, &Value::Null);
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
    let refused = "read consumer POST /v1/login/result 400 rule=result.once";
    let lines = lines(&format!("{STARTED}{refused}"), &Value::Null);
    let text = lines[2].text();
    let told = "We asked for the result. The broker refused with 400. The result was read before.";
    assert!(text.starts_with(told), "{text}");
    assert!(text.ends_with(Rule::ResultOnce.advice()), "{text}");
}

#[test]
fn a_login_without_an_answer_is_at_the_provider_until_it_expires() {
    let start = events(VISITED)[0].at;
    for (ms, line) in [
        (
            LoginLifetime::MS - 1,
            "Redirect: Your browser went to Google, and has not come back.",
        ),
        (
            LoginLifetime::MS,
            "CallbackAgain: The login expired ten minutes after its start.",
        ),
    ] {
        let lines = story_at(start + ms, VISITED, &Value::Null).into_lines();
        check(&lines[2..], &[line]);
    }
}

#[test]
fn a_start_that_failed_has_begun_nothing() {
    let script = format!("{STARTED}{} fault=lose_response", STARTED.trim());
    check(
        &story_at(i64::MAX / 2, &script, &Value::Null).into_lines(),
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
    let many = |times: u32, calls: &str| -> String {
        let each = (0..times).map(|nth| calls.replace('N', &nth.to_string()));
        each.collect()
    };
    let script = STARTED.to_owned() + &many(3, "rN consumer POST /v1/login/result 200\n");
    let line = &lines(&script, &Value::Null)[2];
    assert!(line.text().ends_with("(3 times)"), "{}", line.text());
    let arrow = Some("/logins/aLogin?call=r2#c4-answer");
    assert_eq!(line.arrow.as_deref(), arrow);

    let both = "aN consumer POST /v1/login/result 400 rule=result.once
                bN consumer POST /v1/login/result 200\n";
    let lines = lines(&(STARTED.to_owned() + &many(20, both)), &Value::Null);
    assert_eq!(lines.len(), 11);
    assert_eq!(lines[4].text(), "32 more steps are in the diagram.");
}

#[test]
fn a_panel_escapes_every_name_and_stands_above_the_first_card() {
    let script = format!("{RETURNED}{READ} +result_consumed");
    let story = story_at(0, &script, &succeeded("<script>alert(1)</script>"));
    let panel = Panel::of(story).with_login("aLogin");
    let html = "<head></head><main><h1>Ada</h1><section class=\"card\">…</section></main>";
    let html = page::with_panel(html, "http://127.0.0.1:1", &panel);
    assert!(!html.contains("<script"), "{html}");
    assert!(html.contains("&#60;script&#62;alert(1)"), "{html}");
    assert!(html.contains("href=\"/kit/panel.css\">\n</head>"), "{html}");
    let (panel, card) = (html.find("kit-panel"), html.find("\"card\""));
    assert!(panel < card, "{html}");
    assert!(html.contains("href=\"http://127.0.0.1:1/logins/aLogin?call=read#c4-answer\""));
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
