//! Tests of the ticks over lists of events, and of the lessons as data.

use broker::relay::RelayGuard;
use serde_json::{Value, json};

use super::lesson::{LESSONS, Lesson, Preparation};
use super::progress::{Beginning, Done, LessonRun, Progress, StackState, lesson_events};
use super::step_view::{Piece, pieces};
use crate::event_log::EventLog;
use crate::event_log::tests::events;
use crate::faults::{Fault, FaultInjection, Faults};

/// What happens in a lesson: a script of events, and the bodies of their answers.
#[derive(Default)]
struct Story {
    script: String,
    bodies: Vec<Value>,
    faults: Faults,
    planned: Vec<Preparation>,
    now_ms: i64,
    attacks: Vec<&'static str>,
}

impl Story {
    /// Adds what happens to a login, in words: `a: session visit`.
    fn then(mut self, what: &str) -> Self {
        let (login, words) = what.split_once(": ").unwrap_or_default();
        for word in words.split(' ').filter(|word| !word.is_empty()) {
            self = self.happens(login, word);
        }
        self
    }

    fn happens(mut self, login: &str, word: &str) -> Self {
        let (word, value) = word.split_once('=').unwrap_or((word, ""));
        let mut body = Value::Null;
        let event = match word {
            "session" => "consumer POST /v1/login/session 200",
            "visit" => "browser GET /login/{handle} 303",
            "asked" => "browser GET /login/{handle} 200",
            "cancel" => "browser POST /login/{handle}/cancel 303 rule=relay.cancelled",
            "authorize" => "browser GET /authorize 303",
            "return" => "browser GET /callback/{provider} 303",
            "code" => "browser GET /callback/{provider} 303 +code_issued",
            "return_by" => &format!("browser GET /callback/{{provider}} 303 rule={value}"),
            "refused" => "consumer POST /v1/login/result 400 rule=result.once",
            "login" => return self.then(&format!("{login}: session visit return")),
            "lost" => {
                // The fault of the last call.
                let call = self.bodies.len() - 1;
                let fault = "consumer POST /v1/login/result - fault=lose_response";
                self.script += &format!("{call} {fault} login={login}\n");
                return self;
            }
            outcome => {
                body = match outcome {
                    "failed" => json!({ "status": "failed", "error": value }),
                    "signed_in" => json!({ "status": "succeeded", "profile": { "name": "Ada" } }),
                    pending => json!({ "status": pending }),
                };
                "consumer POST /v1/login/result 200"
            }
        };
        self.script += &format!("{} {event} login={login}\n", self.bodies.len());
        self.bodies.push(body);
        self
    }

    /// Plays one part of a lesson after the other, and compares the ticks after each.
    #[track_caller]
    fn play(mut self, lesson: &str, parts: &[(&str, &str)]) -> Self {
        for (what, expected) in parts {
            self = self.then(what);
            let ticks: String = self.progress(lesson, None, |progress| {
                let tick = |step: &Done| if step.is_done() { '✓' } else { '·' };
                progress.steps.iter().map(tick).collect()
            });
            assert_eq!(ticks, *expected, "{lesson}, {what}");
        }
        self
    }

    fn progress<T>(
        &self,
        lesson: &str,
        chosen: Option<&str>,
        read: impl FnOnce(&Progress<'_, '_>) -> T,
    ) -> T {
        let is_attack = |login: &str| self.attacks.contains(&login);
        let events = events(&self.script);
        let body = |id: &str| self.bodies.get(id.parse::<usize>().ok()?).cloned();
        let (events, logins) = lesson_events(&events, &body, &is_attack);
        let stack = StackState {
            armed: self.faults.armed(),
            planned: self.planned.clone(),
            now_ms: self.now_ms,
            relay_guard: RelayGuard::Auto,
        };
        let progress = Progress::new(lesson_of(lesson), &events, &logins, chosen, &stack);
        read(&progress)
    }

    fn is_missed(&self, lesson: &str) -> bool {
        self.progress(lesson, None, |it| it.is_missed)
    }
}

#[track_caller]
fn play(lesson: &str, parts: &[(&str, &str)]) -> Story {
    Story::default().play(lesson, parts)
}

fn lesson_of(id: &str) -> &'static Lesson {
    LESSONS.iter().find(|lesson| lesson.id == id).unwrap()
}

#[test]
fn every_mark_in_the_text_of_a_lesson_has_its_end() {
    for lesson in LESSONS.iter() {
        let texts = lesson
            .steps
            .iter()
            .flat_map(|step| [&step.text, &step.seen]);
        for text in texts.chain(&lesson.closing) {
            for mark in ['*', '`'] {
                assert_eq!(text.matches(mark).count() % 2, 0, "{text}");
            }
        }
    }
}

#[test]
fn labels_and_code_stand_out_in_a_text() {
    let expected = [
        Piece::Plain("Press "),
        Piece::Strong("Cancel"),
        Piece::Plain(" at "),
        Piece::Code("/login"),
    ];
    assert_eq!(pieces("Press *Cancel* at `/login`"), expected);
    assert_eq!(pieces("plain"), [Piece::Plain("plain")]);
}

#[test]
fn a_first_sign_in_is_ticked_step_by_step() {
    let by_step = [
        ("", "···"),
        ("a: session", "✓··"),
        ("a: visit", "✓··"),
        ("a: return", "✓✓·"),
        ("a: pending", "✓✓·"),
        ("a: signed_in", "✓✓✓"),
    ];
    play("first-sign-in", &by_step);
    let by_step = [
        ("a: session", "✓···"),
        ("a: visit", "✓✓··"),
        ("a: return pending", "✓✓✓·"),
        ("a: signed_in", "✓✓✓✓"),
    ];
    play("where-the-key-lives", &by_step);
}

#[test]
fn a_refused_callback_is_no_return_and_a_login_from_before_the_lesson_does_not_count() {
    let denied = "a: session return_by=upstream.denied";
    play("first-sign-in", &[(denied, "✓··")]);
    play("first-sign-in", &[("a: return signed_in", "···")]);
}

#[test]
fn of_two_logins_the_one_that_came_furthest_counts_and_the_student_may_choose() {
    for (second, chosen, expected) in [
        ("b: session", None, "a"),
        ("b: session", Some("b"), "b"),
        ("b: session", Some("unknown"), "a"),
        // Of two that have come equally far the newest.
        ("b: login", None, "b"),
    ] {
        let story = Story::default().then("a: login").then(second);
        let counts = |it: &Progress<'_, '_>| it.login.map(ToOwned::to_owned);
        let counts = story.progress("first-sign-in", chosen, counts);
        assert_eq!(counts.as_deref(), Some(expected), "{second} {chosen:?}");
    }
}

#[test]
fn a_fault_is_armed_or_has_struck() {
    let story = Story::default();
    let read = "POST /v1/login/result".parse().unwrap();
    story
        .faults
        .arm(FaultInjection::next(read, Fault::LoseResponse));
    let story = story.play("lost-answer", &[("", "✓···")]);
    story.faults.clear();
    let parts = [("", "····"), ("a: login signed_in lost", "✓✓··")];
    let story = story.play("lost-answer", &parts);
    assert!(!story.is_missed("lost-answer"));
    let parts = [("a: refused", "✓✓✓·"), ("b: login signed_in", "✓✓✓✓")];
    story.play("lost-answer", &parts);
}

#[test]
fn a_sign_in_before_the_fault_was_armed_is_explained() {
    let story = play("lost-answer", &[("a: login signed_in", "····")]);
    assert!(story.is_missed("lost-answer"));
}

#[test]
fn a_step_before_its_turn_is_named() {
    let parts = [("a: login", "✓····"), ("b: login signed_in", "✓✓···")];
    let early = play("two-tabs", &parts).progress("two-tabs", None, |it| it.out_of_order);
    assert_eq!(early, Some((3, 5)));
}

#[test]
fn two_tabs_are_ticked_by_both_logins() {
    let parts = [
        ("a: session", "✓····"),
        ("b: session pending", "✓✓✓··"),
        ("a: signed_in", "✓✓✓✓·"),
        ("b: signed_in", "✓✓✓✓✓"),
    ];
    play("two-tabs", &parts);
}

#[test]
fn a_cancelled_login_is_told_from_one_that_succeeded() {
    let cancelled = "a: session return_by=upstream.denied failed=access_denied";
    assert!(!play("cancel", &[(cancelled, "✓✓✓")]).is_missed("cancel"));
    let signed_in = play("cancel", &[("a: login signed_in", "✓··")]);
    assert!(signed_in.is_missed("cancel"));
}

#[test]
fn a_planned_failure_is_ticked_before_and_after_it_happens() {
    let fails = "a: session return_by=upstream.unavailable failed=provider_unavailable";
    let forged = "a: session return_by=upstream.invalid failed=invalid_provider_response";
    for (lesson, name, what) in [
        ("provider-fails", "server_error", fails),
        ("forged-id-token", "bad_signature", forged),
    ] {
        let mut story = Story::default();
        story.planned.push(Preparation::Misbehaviour {
            provider: "google".to_owned(),
            name: name.to_owned(),
        });
        story = story.play(lesson, &[("", "✓··")]);
        story.planned.clear();
        story.play(lesson, &[("", "···"), (what, "✓✓✓")]);
    }
}

#[test]
fn a_replay_is_ticked_by_the_refusal() {
    let parts = [("a: login signed_in", "✓✓·"), ("a: refused", "✓✓✓")];
    play("replay", &parts);
}

#[test]
fn ten_minutes_pass_from_the_visit_on() {
    let mut story = Story::default().then("a: session visit");
    for (now_ms, ticks) in [(600_019, "✓···"), (600_020, "✓✓··")] {
        story.now_ms = now_ms;
        story = story.play("expiry", &[("", ticks)]);
    }
    let parts = [
        ("a: return_by=upstream_login.expiry", "✓✓✓·"),
        ("b: login signed_in", "✓✓✓✓"),
    ];
    story.play("expiry", &parts);
}

#[test]
fn an_attack_is_ticked_with_the_guard_and_without() {
    let mut story = Story::default().then("own: login signed_in");
    story.attacks = vec!["a", "b", "c"];
    let parts = [
        ("", "·····"),
        ("a: session asked", "✓✓···"),
        ("a: return signed_in", "✓✓✓··"),
        ("b: login signed_in", "✓✓✓✓·"),
        ("c: authorize code", "✓✓✓✓✓"),
    ];
    story.play("relay", &parts);
}

#[test]
fn a_victim_who_cancels_is_praised() {
    let mut story = Story::default().then("a: session asked");
    story.attacks = vec!["a"];
    assert!(!story.is_missed("relay"));
    assert!(story.then("a: cancel").is_missed("relay"));
}

#[test]
fn an_address_says_where_a_lesson_began_and_a_reset_ends_it() {
    let event_log = EventLog::default();
    let run = LessonRun::begin(&event_log);
    let path = run.path("replay", Some("aLogin"));
    let (id, since) = path
        .strip_prefix("/lessons/replay?run=")
        .and_then(|rest| rest.strip_suffix("&login=aLogin"))
        .and_then(|rest| rest.split_once("&since="))
        .unwrap();
    let parse = |id, since| Beginning::parse(id, since, &event_log);
    assert_eq!(parse(Some(id), Some(since)), Beginning::At(run.clone()));
    assert_eq!(parse(None, None), Beginning::None);
    assert_eq!(parse(Some(id), Some("-1")), Beginning::None);
    assert_eq!(parse(Some("another"), Some(since)), Beginning::Reset);
    event_log.clear();
    assert_eq!(parse(Some(id), Some(since)), Beginning::Reset);
}
