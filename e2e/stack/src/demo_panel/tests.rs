//! Tests of the lines that a story makes of events, and of the cookie. `logins.txt` has the
//! logins, and a snapshot their panels.

use rocket::http::Header;
use rocket::local::blocking::Client;

use super::LoginsCookie;
use super::panel::{Panel, with_panel};
use super::story::{Line, Source, Story};
use crate::event_log::tests::{Login, events, logins};
use crate::facts::LoginFlow;
use crate::facts::meaning::Answers;

const STARTED: &str = "start consumer POST /v1/login/session 200 +opened\n";

fn story(login: &Login, answers: &dyn Answers) -> Story {
    let source = Source {
        path: "/logins/aLogin".to_owned(),
        now_ms: login.now_ms,
        answers,
    };
    Story::of(&login.events, &source)
}

/// Every line with its tone, its place and its arrow.
fn shown(lines: &[Line]) -> String {
    let line = |line: &Line| {
        let place = line.place.map(|place| format!("{place:?}: "));
        let arrow = line.arrow.as_deref().unwrap_or_default();
        let (tone, place) = (line.tone.class(), place.unwrap_or_default());
        format!("[{tone}] {place}{} {arrow}\n", line.text())
    };
    lines.iter().map(line).collect()
}

#[test]
fn each_login_is_told_with_its_places_and_arrows() {
    let mut all = String::new();
    for login in logins() {
        let lines = story(&login, &login.body).into_lines();
        all += &format!("== {}\n{}\n", login.title, shown(&lines));
    }
    insta::assert_snapshot!(all);
}

#[test]
fn a_visit_without_a_login_calls_no_broker() {
    for (flow, place) in [
        (LoginFlow::Clean, "CallbackSession"),
        (LoginFlow::Legacy, "LegacyConsumeState"),
    ] {
        let lines = Story::default().without_login(flow).into_lines();
        let expected = format!("[bad] {place}: Your browser came to our callback");
        assert!(shown(&lines).starts_with(&expected), "{lines:?}");
    }
}

#[test]
fn a_login_that_has_not_come_back_is_pending_because_another_tab_has() {
    let script = "leave browser GET /login/{handle} 303
                  read consumer POST /v1/login/result 200\n";
    let login = Login {
        events: events(&(STARTED.to_owned() + script)),
        ..logins().remove(0)
    };
    let pending = |_: &str| Some(serde_json::json!({ "status": "pending" }));
    let lines = shown(&story(&login, &pending).into_lines());
    let expected = "PutBackKey: Another tab of yours came back first";
    assert!(lines.contains(expected), "{lines}");
}

#[test]
fn a_visit_after_the_end_names_the_login_and_its_diagram() {
    let path = "/logins/aLogin".to_owned();
    let story = Story::default().expired(61_000, LoginFlow::Clean, path);
    let expected = "[bad] CallbackAgain: Your login of 00:01:01 (UTC) had expired, so we did not call the broker. /logins/aLogin\n";
    assert_eq!(shown(&story.into_lines()), expected);
}

#[test]
fn a_failure_without_an_error_is_told_in_words() {
    let login = Login {
        events: events("read consumer POST /v1/login/result 200 +result_consumed\n"),
        ..logins().remove(0)
    };
    let failed = |_: &str| Some(serde_json::json!({ "status": "failed" }));
    let lines = shown(&story(&login, &failed).into_lines());
    let expected = "We asked once for the result: the login failed. You were not signed in.";
    assert!(lines.contains(expected), "{lines}");
}

#[test]
fn a_long_story_is_shortened() {
    let both = "aN consumer POST /v1/login/result 400 rule=result.once
                bN consumer POST /v1/login/result 200\n";
    let many = (0..20).map(|nth| both.replace('N', &nth.to_string()));
    let login = Login {
        events: events(&many.fold(STARTED.to_owned(), |all, both| all + &both)),
        ..logins().remove(0)
    };
    let lines = story(&login, &|_: &str| None).into_lines();
    assert_eq!(lines.len(), 11);
    assert_eq!(lines[4].text(), "32 more steps are in the diagram.");
}

#[test]
fn a_panel_escapes_every_name_and_stands_above_the_first_card() {
    let login = logins().remove(0);
    let hostile = serde_json::json!({
        "status": "succeeded",
        "profile": { "name": "<script>alert(1)</script>" },
    });
    let story = story(&login, &|call: &str| {
        (call == "read").then(|| hostile.clone())
    });
    let panel = Panel::of(story).with_login("aLogin");
    let html = "<head></head><main><h1>Ada</h1><section class=\"card\">…</section></main>";
    let html = with_panel(html, "http://127.0.0.1:1", &panel);
    assert!(!html.contains("<script"), "{html}");
    assert!(html.contains("&#60;script&#62;alert(1)"), "{html}");
    assert!(html.contains("href=\"/kit/panel.css\">\n</head>"), "{html}");
    let (panel, card) = (html.find("kit-panel"), html.find("\"card\""));
    assert!(panel < card, "{html}");
    let arrow = "href=\"http://127.0.0.1:1/logins/aLogin?call=read#c6-answer\"";
    assert!(html.contains(arrow), "{html}");
}

#[test]
fn a_login_that_is_gone_is_said_to_be_gone() {
    let html = "<head></head><main><div data-problem=\"no_session\"></div></main>";
    let html = with_panel(html, "http://127.0.0.1:1", &Panel::default());
    assert!(html.contains("does not know this login any more"), "{html}");
    let inspector = "href=\"http://127.0.0.1:1/\">Inspector";
    assert!(html.contains(inspector), "{html}");
}

#[test]
fn the_ids_are_those_of_the_one_cookie_with_exactly_the_name() {
    let client = Client::debug(rocket::build()).expect("a client");
    let [ours, planted] = ["aaaaaaaaaaaa", "bbbbbbbbbbbb"];
    for (sent, ids) in [
        (format!("other=x; __Host-kit_logins_443={ours}"), vec![ours]),
        (
            format!("__Host-kit_logins_443={ours}.x.{planted}"),
            vec![ours, planted],
        ),
        (format!("%5F%5FHost-kit_logins_443={planted}"), vec![]),
        (format!("\u{2000}__Host-kit_logins_443={planted}"), vec![]),
        (
            format!("%5F%5FHost-kit_logins_443={planted}; __Host-kit_logins_443={ours}"),
            vec![ours],
        ),
        (
            format!("__Host-kit_logins_443={ours}; __Host-kit_logins_443={planted}"),
            vec![],
        ),
    ] {
        let request = client.get("/").header(Header::new("Cookie", sent.clone()));
        let cookie = LoginsCookie::of("https://localhost");
        assert_eq!(cookie.read(request.inner()), ids, "{sent}");
    }
}
