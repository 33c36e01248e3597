//! Tests of the ticks over lists of events, and of the lessons as data.

use std::sync::Arc;

use broker::relay::RelayGuard;
use serde_json::{Value, json};

use super::catalogue::LESSONS;
use super::fact::facts;
use super::lesson::{Lesson, StackState};
use super::progress::{Done, Progress};
use super::run::{Beginning, LessonRun};
use super::step_view::{Piece, pieces};
use crate::event_log::{EventLog, EventSource, LoggedEvent};
use crate::faults::{Fault, FaultInjection, Faults};
use crate::inspector::{Answers, RedirectTarget};

const SESSION: &str = "POST /v1/login/session";
const VISIT: &str = "GET /login/{handle}";
const CALLBACK: &str = "GET /callback/{provider}";
const RESULT: &str = "POST /v1/login/result";

/// The events of a lesson, and the bodies of their answers.
#[derive(Default)]
struct Story {
    events: Vec<Arc<LoggedEvent>>,
    bodies: Vec<Value>,
    faults: Faults,
    planned: Vec<(&'static str, &'static str)>,
    now_ms: i64,
    attacks: Vec<&'static str>,
}

impl Answers for Story {
    fn redirect_target(&self, _: &str) -> Option<RedirectTarget> {
        None
    }

    fn body(&self, request_id: &str) -> Option<Value> {
        let index: usize = request_id.parse().ok()?;
        self.bodies.get(index).cloned()
    }
}

impl Story {
    /// Adds an answered call of `login`, which a test may change.
    fn call(
        mut self,
        login: &str,
        operation: &str,
        status: u16,
        change: impl FnOnce(&mut LoggedEvent),
    ) -> Self {
        let seq = u64::try_from(self.events.len()).unwrap() + 1;
        let from = match operation.contains("/v1/") {
            true => "consumer",
            false => "browser",
        };
        let request_id = self.bodies.len().to_string();
        let mut event = LoggedEvent {
            login: Some(login.to_owned()),
            status: Some(status),
            ..LoggedEvent::example(seq, &request_id, from, operation)
        };
        change(&mut event);
        self.bodies.push(Value::Null);
        self.events.push(Arc::new(event));
        self
    }

    fn plain(self, login: &str, operation: &str, status: u16) -> Self {
        self.call(login, operation, status, |_| {})
    }

    fn broken(self, login: &str, operation: &str, status: u16, rule: &'static str) -> Self {
        self.call(login, operation, status, |event| event.rule = Some(rule))
    }

    /// Adds a read of the result of `login` with this answer.
    fn read(mut self, login: &str, body: Value) -> Self {
        self = self.plain(login, RESULT, 200);
        *self.bodies.last_mut().unwrap() = body;
        self
    }

    fn signed_in(self, login: &str) -> Self {
        self.read(
            login,
            json!({ "status": "succeeded", "profile": { "name": "Ada Lovelace" } }),
        )
    }

    fn pending(self, login: &str) -> Self {
        self.read(login, json!({ "status": "pending" }))
    }

    fn failed(self, login: &str, error: &str) -> Self {
        self.read(login, json!({ "status": "failed", "error": error }))
    }

    /// Loses the answer of the last call.
    fn lost(mut self) -> Self {
        let mut event = LoggedEvent::clone(self.events.last().unwrap());
        event.seq += 1;
        event.source = EventSource::Proxy;
        event.status = None;
        event.fault = Some("lose_response");
        self.events.push(Arc::new(event));
        self
    }

    /// A login up to the user's return from the provider.
    fn login(self, login: &str) -> Self {
        self.plain(login, SESSION, 200)
            .plain(login, VISIT, 303)
            .plain(login, CALLBACK, 303)
    }

    fn progress<T>(
        &self,
        lesson: &str,
        chosen: Option<&str>,
        read: impl FnOnce(&Progress<'_, '_>) -> T,
    ) -> T {
        let is_attack = |login: &str| self.attacks.contains(&login);
        let (facts, logins) = facts(&self.events, self, &is_attack);
        let stack = StackState {
            armed: self.faults.armed(),
            planned: self.planned.clone(),
            now_ms: self.now_ms,
            relay_guard: RelayGuard::Auto,
        };
        let progress = Progress::new(lesson_of(lesson), &facts, &logins, chosen, &stack);
        read(&progress)
    }

    #[track_caller]
    fn ticks(&self, lesson: &str, expected: &str) {
        let ticks: String = self.progress(lesson, None, |progress| {
            let steps = progress.steps.iter();
            let tick = |step: &Done| if step.is_done() { '✓' } else { '·' };
            steps.map(tick).collect()
        });
        assert_eq!(ticks, expected, "{lesson}");
    }

    #[track_caller]
    fn is_missed(&self, lesson: &str, expected: bool) {
        assert_eq!(self.progress(lesson, None, |it| it.is_missed), expected);
    }
}

fn lesson_of(id: &str) -> &'static Lesson {
    LESSONS.iter().find(|lesson| lesson.id == id).unwrap()
}

#[test]
fn every_mark_in_the_text_of_a_lesson_has_its_end() {
    for lesson in &LESSONS {
        let texts = lesson.steps.iter().flat_map(|step| [step.text, step.seen]);
        for text in texts.chain(lesson.closing.iter().copied()) {
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
    let story = Story::default();
    story.ticks("first-sign-in", "···");
    let story = story.plain("a", SESSION, 200);
    story.ticks("first-sign-in", "✓··");
    story.ticks("where-the-key-lives", "✓···");
    let story = story.plain("a", VISIT, 303);
    story.ticks("where-the-key-lives", "✓✓··");
    let story = story.plain("a", CALLBACK, 303);
    story.ticks("first-sign-in", "✓✓·");
    let story = story.pending("a");
    story.ticks("first-sign-in", "✓✓·");
    story.ticks("where-the-key-lives", "✓✓✓·");
    let story = story.signed_in("a");
    story.ticks("first-sign-in", "✓✓✓");
    story.ticks("where-the-key-lives", "✓✓✓✓");
}

#[test]
fn a_refused_callback_is_no_return_and_a_login_from_before_the_lesson_does_not_count() {
    let story = Story::default().plain("a", SESSION, 200);
    let story = story.broken("a", CALLBACK, 303, "upstream.denied");
    story.ticks("first-sign-in", "✓··");
    let story = Story::default().plain("a", CALLBACK, 303).signed_in("a");
    story.ticks("first-sign-in", "···");
}

#[test]
fn of_two_logins_the_one_that_came_furthest_counts_and_the_student_may_choose() {
    let story = Story::default().login("a").plain("b", SESSION, 200);
    let counts = |chosen| {
        story.progress("first-sign-in", chosen, |it| {
            it.login.map(ToOwned::to_owned)
        })
    };
    assert_eq!(counts(None).as_deref(), Some("a"));
    assert_eq!(counts(Some("b")).as_deref(), Some("b"));
    assert_eq!(counts(Some("unknown")).as_deref(), Some("a"));
    // Of two that have come equally far the newest.
    let story = Story::default().login("a").login("b");
    let newest = story.progress("first-sign-in", None, |it| it.login.map(ToOwned::to_owned));
    assert_eq!(newest.as_deref(), Some("b"));
}

#[test]
fn a_fault_is_armed_or_has_struck() {
    let story = Story::default();
    story.faults.arm(FaultInjection::next(
        RESULT.parse().unwrap(),
        Fault::LoseResponse,
    ));
    story.ticks("lost-answer", "✓···");
    story.faults.clear();
    story.ticks("lost-answer", "····");
    let story = story.login("a").signed_in("a").lost();
    story.ticks("lost-answer", "✓✓··");
    story.is_missed("lost-answer", false);
    let story = story.broken("a", RESULT, 400, "result.once");
    story.ticks("lost-answer", "✓✓✓·");
    let story = story.login("b").signed_in("b");
    story.ticks("lost-answer", "✓✓✓✓");
}

#[test]
fn a_sign_in_before_the_fault_was_armed_is_explained() {
    let story = Story::default().login("a").signed_in("a");
    story.ticks("lost-answer", "····");
    story.is_missed("lost-answer", true);
}

#[test]
fn a_step_before_its_turn_is_named() {
    let story = Story::default().login("a").login("b").signed_in("b");
    story.ticks("two-tabs", "✓✓···");
    let early = story.progress("two-tabs", None, |it| it.out_of_order);
    assert_eq!(early, Some((3, 5)));
}

#[test]
fn two_tabs_are_ticked_by_both_logins() {
    let story = Story::default().plain("a", SESSION, 200);
    story.ticks("two-tabs", "✓····");
    let story = story.plain("b", SESSION, 200).pending("b");
    story.ticks("two-tabs", "✓✓✓··");
    let story = story.signed_in("a").signed_in("b");
    story.ticks("two-tabs", "✓✓✓✓✓");
}

#[test]
fn a_cancelled_login_is_told_from_one_that_succeeded() {
    let story = Story::default().plain("a", SESSION, 200);
    let cancelled = story
        .broken("a", CALLBACK, 303, "upstream.denied")
        .failed("a", "access_denied");
    cancelled.ticks("cancel", "✓✓✓");
    cancelled.is_missed("cancel", false);
    let signed_in = Story::default().login("a").signed_in("a");
    signed_in.ticks("cancel", "✓··");
    signed_in.is_missed("cancel", true);
}

#[test]
fn a_planned_failure_is_ticked_before_and_after_it_happens() {
    let (failing, unavailable) = ("provider-fails", "provider_unavailable");
    let (forged, invalid) = ("forged-id-token", "invalid_provider_response");
    for (lesson, name, rule, error) in [
        (failing, "server_error", "upstream.unavailable", unavailable),
        (forged, "bad_signature", "upstream.invalid", invalid),
    ] {
        let mut story = Story::default();
        story.planned.push(("google", name));
        story.ticks(lesson, "✓··");
        story.planned.clear();
        story.ticks(lesson, "···");
        let story = story.plain("a", SESSION, 200);
        let story = story.broken("a", CALLBACK, 303, rule).failed("a", error);
        story.ticks(lesson, "✓✓✓");
    }
}

#[test]
fn a_replay_is_ticked_by_the_refusal() {
    let story = Story::default().login("a").signed_in("a");
    story.ticks("replay", "✓✓·");
    let story = story.broken("a", RESULT, 400, "result.once");
    story.ticks("replay", "✓✓✓");
}

#[test]
fn ten_minutes_pass_from_the_visit_on() {
    let mut story = Story::default()
        .plain("a", SESSION, 200)
        .plain("a", VISIT, 303);
    story.now_ms = 600_019;
    story.ticks("expiry", "✓···");
    story.now_ms = 600_020;
    story.ticks("expiry", "✓✓··");
    let story = story.broken("a", CALLBACK, 303, "upstream_login.expiry");
    story.ticks("expiry", "✓✓✓·");
    let story = story.login("b").signed_in("b");
    story.ticks("expiry", "✓✓✓✓");
}

#[test]
fn an_attack_is_ticked_with_the_guard_and_without() {
    let mut story = Story::default().login("own").signed_in("own");
    story.attacks = vec!["a", "b", "c"];
    story.ticks("relay", "·····");
    let story = story.plain("a", SESSION, 200).plain("a", VISIT, 200);
    story.ticks("relay", "✓✓···");
    let story = story.plain("a", CALLBACK, 303).signed_in("a");
    story.ticks("relay", "✓✓✓··");
    let story = story.login("b").signed_in("b");
    story.ticks("relay", "✓✓✓✓·");
    let story = story.plain("c", "GET /authorize", 303);
    let story = story.call("c", CALLBACK, 303, |event| {
        event.steps = vec!["code_issued"];
    });
    story.ticks("relay", "✓✓✓✓✓");
}

#[test]
fn a_victim_who_cancels_is_praised() {
    let story = Story {
        attacks: vec!["a"],
        ..Story::default()
    };
    let story = story.plain("a", SESSION, 200).plain("a", VISIT, 200);
    story.is_missed("relay", false);
    let story = story.broken("a", "POST /login/{handle}/cancel", 303, "relay.cancelled");
    story.is_missed("relay", true);
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
