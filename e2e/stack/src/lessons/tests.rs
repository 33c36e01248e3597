//! Tests of the ticks over lists of events, and of the lessons as data. `plays.txt` has the
//! lessons as they are played.

use broker::relay::RelayGuard;
use serde_json::{Value, json};

use super::lesson::{LESSONS, Lesson, Preparation, Tick};
use super::progress::{Beginning, Done, LessonRun, Progress, StackState, lesson_events};
use super::step_view::{Piece, pieces};
use crate::event_log::EventLog;
use crate::event_log::tests::events;
use crate::faults::{Fault, FaultInjection, Faults};

/// What happens in a lesson: a script of events, and the bodies of their answers.
#[derive(Default)]
struct Story<'a> {
    script: String,
    bodies: Vec<Value>,
    faults: Faults,
    planned: Vec<Preparation>,
    now_ms: i64,
    attacks: Vec<&'a str>,
}

impl<'a> Story<'a> {
    /// Adds one part: what happens to a login, or a state of the stack.
    fn add(&mut self, part: &'a str) {
        if let Some((login, words)) = part.split_once(": ") {
            return words.split(' ').for_each(|word| self.happens(login, word));
        }
        match part.split_once('=').unwrap_or((part, "")) {
            ("armed", _) => {
                let read = "POST /v1/login/result".parse().unwrap();
                let fault = FaultInjection::next(read, Fault::LoseResponse);
                self.faults.arm(fault);
            }
            ("cleared", _) => {
                self.faults.clear();
                self.planned.clear();
            }
            ("planned", failure) => {
                let (provider, name) = failure.split_once('/').expect(part);
                self.planned.push(Preparation::Misbehaviour {
                    provider: provider.to_owned(),
                    name: name.to_owned(),
                });
            }
            ("now", ms) => self.now_ms = ms.parse().expect(part),
            ("attacks", logins) => self.attacks = logins.split(',').collect(),
            _ => assert_eq!(part, "", "a part"),
        }
    }

    fn happens(&mut self, login: &str, word: &str) {
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
            "login" => {
                let words = ["session", "visit", "return"];
                return words.into_iter().for_each(|word| self.happens(login, word));
            }
            "lost" => {
                // The fault of the last call.
                let call = self.bodies.len() - 1;
                let fault = "consumer POST /v1/login/result - fault=lose_response";
                self.script += &format!("{call} {fault} login={login}\n");
                return;
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
}

fn lesson_of(id: &str) -> &'static Lesson {
    LESSONS.iter().find(|lesson| lesson.id == id).expect(id)
}

/// The progress in the words of `plays.txt`.
fn shown(progress: &Progress<'_, '_>) -> String {
    let tick = |step: &Done| if step.is_done() { '✓' } else { '·' };
    let mut shown: String = progress.steps.iter().map(tick).collect();
    if progress.is_missed {
        shown += " missed";
    }
    if let Some((missing, early)) = progress.out_of_order {
        shown += &format!(" early {early} before {missing}");
    }
    shown
}

#[test]
fn each_lesson_is_ticked_step_by_step() {
    for play in include_str!("plays.txt").split("\n== ").skip(1) {
        let (lesson, parts) = play.split_once('\n').expect("a lesson");
        let mut story = Story::default();
        for row in parts
            .lines()
            .filter(|it| !it.is_empty() && !it.starts_with('#'))
        {
            let (part, ticks) = row.split_once("=> ").expect(row);
            story.add(part.trim());
            assert_eq!(
                story.progress(lesson, None, shown),
                ticks,
                "{lesson}, {part}"
            );
        }
    }
}

#[test]
fn a_tick_has_no_word_that_nothing_reads() {
    let prepared = r#"prepared = { advance = { seconds = 600 } }"#;
    assert!(toml::from_str::<Tick>(prepared).is_ok());
    for more in ["fact = \"failed\"", "rules = \"result.once\""] {
        let tick = format!("{prepared}\n{more}");
        assert!(toml::from_str::<Tick>(&tick).is_err(), "{tick}");
    }
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
fn of_two_logins_the_one_that_came_furthest_counts_and_the_student_may_choose() {
    for (second, chosen, expected) in [
        ("b: session", None, "a"),
        ("b: session", Some("b"), "b"),
        ("b: session", Some("unknown"), "a"),
        // Of two that have come equally far the newest.
        ("b: login", None, "b"),
    ] {
        let mut story = Story::default();
        story.add("a: login");
        story.add(second);
        let counts = |it: &Progress<'_, '_>| it.login.map(ToOwned::to_owned);
        let counts = story.progress("first-sign-in", chosen, counts);
        assert_eq!(counts.as_deref(), Some(expected), "{second} {chosen:?}");
    }
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
