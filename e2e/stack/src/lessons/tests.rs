//! Tests of the ticks over lists of events, and of the lessons as data. `plays.txt` has the
//! lessons as they are played.

use std::collections::HashMap;

use serde_json::Value;

use super::attacker::{Attack, Return};
use super::lesson::{CATALOGUE, Lesson, Press, Tick};
use super::page::{LessonPage, count_foreign};
use super::progress::{LessonEvents, LessonRun, Progress, Situation};
use crate::event_log::EventLog;
use crate::event_log::tests::{events, logins};
use crate::facts::LoginFlow;
use crate::inspector::{Arrow, Participant, Row, rows};

/// A play of a lesson: a script of events, and the bodies of their answers by call.
#[derive(Default)]
struct Story {
    script: String,
    bodies: HashMap<String, Value>,
    situation: Situation,
    attacks: Vec<Attack>,
}

impl Story {
    /// Adds a part of `plays.txt`.
    fn add(&mut self, lesson: &Lesson, part: &str) {
        let (what, value) = part.split_once(": ").unwrap_or((part, ""));
        match what {
            "" => {}
            "clear" => self.situation.pressed.clear(),
            "armed elsewhere" => self.situation.pressed.push(Press::form("/do/strike", &[])),
            "now" => self.situation.now_ms = value.parse().expect(part),
            "answer" => self.situation.answers.push(value.to_owned()),
            "press" => match &lesson.steps[value.parse::<usize>().expect(part) - 1].tick {
                Tick::Press(press) => self.situation.pressed.push(press.clone()),
                _ => panic!("{part} has no button"),
            },
            "attack" | "legacy attack" => {
                let is_legacy = what == "legacy attack";
                self.attacks.push(Attack {
                    login: value.to_owned(),
                    flow: [LoginFlow::Clean, LoginFlow::Legacy][usize::from(is_legacy)],
                    ..Attack::default()
                });
                self.situation
                    .pressed
                    .push(self.attacks.last().expect(part).press());
            }
            "in" | "out" => {
                let attack = self.attacks.iter_mut().find(|it| it.login == value);
                attack.expect(part).back = Some(Return {
                    is_in: what == "in",
                    is_forged: false,
                    page: String::new(),
                });
            }
            login => value.split(' ').for_each(|word| self.happens(login, word)),
        }
    }

    fn happens(&mut self, login: &str, word: &str) {
        let mut words = include_str!("plays.txt").lines();
        let event = words.find_map(|line| line.strip_prefix(word)?.strip_prefix(" = "));
        let event = event.expect(word);
        let (event, body) = event.split_at(event.find(" {\"").unwrap_or(event.len()));
        // A fault strikes the last call.
        let call = self.script.lines().count() - usize::from(event.contains("fault="));
        self.script += &format!("{call} {event} login={login}\n");
        if !body.is_empty() {
            let body = serde_json::from_str(body).expect(word);
            self.bodies.insert(call.to_string(), body);
        }
    }

    /// The progress in the words of `plays.txt`, and the login that counts.
    fn shown(&self, lesson: &'static Lesson) -> (String, Option<String>) {
        let events = events(&self.script);
        let body = |id: &str| self.bodies.get(id).cloned();
        let events = LessonEvents::new(lesson.scope, &events, &body, &self.attacks);
        let progress = Progress::new(lesson, &events, &self.situation);
        let done = progress.done.len();
        let mut shown = "✓".repeat(done) + &"·".repeat(lesson.steps.len() - done);
        if progress.missed.is_some() {
            shown += " missed";
        }
        if let Some((missing, early)) = progress.out_of_order {
            shown += &format!(" early {early} before {missing}");
        }
        if count_foreign(lesson, &self.situation) > 0 {
            shown += " foreign";
        }
        if events.has_other_flow {
            shown += " other flow";
        }
        (shown, progress.login.map(ToOwned::to_owned))
    }
}

fn lesson_of(id: &str) -> &'static Lesson {
    CATALOGUE.find(id).expect(id).1
}

#[test]
fn each_lesson_is_ticked_step_by_step() {
    for play in include_str!("plays.txt").split("\n== ").skip(1) {
        let (id, parts) = play.split_once('\n').expect("a lesson");
        let lesson = lesson_of(id);
        let mut story = Story::default();
        for row in parts.lines().filter(|it| it.contains("=> ")) {
            let (part, ticks) = row.split_once("=> ").expect(row);
            story.add(lesson, part.trim());
            assert_eq!(story.shown(lesson).0, ticks, "{id}, {part}");
        }
    }
}

#[test]
fn every_lesson_asks_one_question_and_every_mark_in_its_texts_has_its_end() {
    for lesson in &CATALOGUE.lessons {
        let mut texts = lesson.closing.iter().collect::<Vec<_>>();
        let mut questions = 0;
        for step in &lesson.steps {
            texts.extend([&step.text, &step.seen]);
            if let Tick::Question(question) = &step.tick {
                questions += 1;
                texts.extend(question.options.iter().map(|it| &it.why));
                assert!(question.options.iter().any(|it| it.right), "{}", lesson.id);
            }
        }
        assert_eq!(questions, 1, "{}", lesson.id);
        for text in texts {
            for mark in ['*', '`'] {
                assert_eq!(text.matches(mark).count() % 2, 0, "{text}");
            }
        }
    }
    let marked = LessonPage::marked("Press *Cancel* at `/<path>`");
    assert_eq!(
        marked,
        "Press <strong>Cancel</strong> at <code>/&lt;path></code>"
    );
}

#[test]
fn every_arrow_of_the_catalogue_is_one_of_a_sign_in() {
    for (flow, login) in [LoginFlow::Clean, LoginFlow::Legacy]
        .into_iter()
        .zip(logins())
    {
        let rows = rows(&login.events, &login.body, 0);
        let arrows: Vec<_> = rows.iter().filter_map(Row::as_arrow).collect();
        for [from, to, label] in CATALOGUE.arrows(flow) {
            let ends = [from, to].map(|name| Participant::named(name));
            let is_drawn = |it: &&Arrow| it.label == *label && [it.from, it.to] == ends;
            assert!(arrows.iter().any(is_drawn), "{from} to {to}: {label}");
        }
    }
}

#[test]
fn of_two_logins_the_one_that_came_furthest_counts() {
    // Of two that have come equally far the newest.
    for (second, expected) in [("b: return", "a"), ("b: session", "b")] {
        let mut story = Story::default();
        let lesson = lesson_of("first-sign-in");
        story.add(lesson, "a: session visit");
        story.add(lesson, second);
        assert_eq!(story.shown(lesson).1.as_deref(), Some(expected), "{second}");
    }
}

#[test]
fn an_address_says_where_a_lesson_began_and_after_a_reset_it_begins_anew() {
    let event_log = EventLog::default();
    let run = LessonRun::begin(&event_log).with_answers(vec!["a & b".to_owned()]);
    let path = run.path("replay");
    let (own, answers) = path
        .strip_prefix("/lessons/replay?run=")
        .and_then(|rest| rest.split_once("&since="))
        .unwrap();
    assert_eq!(answers, "0&answer=a+%26+b");
    let parse = |run, since| LessonRun::parse(run, since, &event_log);
    assert!(parse(Some(own), Some("0")).is_some_and(|it| !it.was_reset));
    assert_eq!(parse(None, None), None);
    assert_eq!(parse(Some(own), Some("-1")), None);
    let after = parse(Some("another"), Some("7")).unwrap();
    assert_eq!((after.was_reset, after.since), (true, 0));
}
