//! The keys of the course, each a letter or a number, followed by Enter.

use stack::practice::PracticeStatus;

use super::super::exercise::Exercise;
use super::super::judge::{Scope, plan};
use super::super::words::{self, say, say_of};
use super::{Session, Step};
use crate::examination::in_first_testbed;

impl Session {
    /// Does what a key says.
    pub(super) async fn key(&mut self, key: &str) -> Result<Step, String> {
        match (key, key.parse::<usize>()) {
            ("", _) => {}
            ("h", _) => self.hint().await?,
            ("d", _) => self.say_diagram(),
            ("o", _) => return self.open_app().await,
            ("r", _) => self.start_over()?,
            ("l", _) => words::list(&self.practice(), self.place),
            ("s", _) => self.solution().await?,
            ("n", _) => return Ok(self.next()),
            ("q", _) => return Ok(Step::Quit),
            (_, Ok(number)) if self.is_asked => self.answer(number),
            (_, Ok(number)) if (1..=Exercise::all().len()).contains(&number) => {
                return Ok(Step::Go(number - 1));
            }
            _ => say(format!(" There is no such key. {}", words::KEYS)),
        }
        Ok(Step::Stay)
    }

    fn next(&self) -> Step {
        let next = self.next_open(self.place + 1);
        match next.filter(|place| *place != self.place) {
            Some(place) => Step::Go(place),
            None if self.progress.is_done(&self.exercise().id) => {
                say(" That was the last one: every exercise is done. l lists them, q ends.");
                Step::Stay
            }
            None => {
                say(" This is the last one that is open.");
                Step::Stay
            }
        }
    }

    /// One more hint: an arrow, then the contract, then the lines.
    async fn hint(&mut self) -> Result<(), String> {
        let entry = self.progress.entry(&self.exercise().id);
        entry.hints = (entry.hints + 1).min(3);
        let hints = self.hints_of(self.exercise());
        if let Some(hint) = hints.last() {
            say_of(&format!("hint {} of 3", hints.len()), hint);
        }
        self.keep().await
    }

    /// The hints that were asked for.
    pub(super) fn hints_of(&self, exercise: &Exercise) -> Vec<String> {
        let asked = self.progress.of(&exercise.id).hints;
        let places = exercise.places(self.folder.language).unwrap_or_default();
        let all = [
            exercise.arrow.clone(),
            exercise.law.clone(),
            places.join("; "),
        ];
        all.into_iter().take(asked).collect()
    }

    fn say_diagram(&self) {
        say_of("diagram", &self.report_file().display().to_string());
        if self.is_mirrored {
            say_of(
                "",
                &format!("{}/practice/{}", self.control.url(), self.exercise().id),
            );
        }
    }

    /// Starts the app with a stack of its own, until Enter.
    async fn open_app(&mut self) -> Result<Step, String> {
        let (app, exercise) = (self.folder.app(self.place), self.exercise());
        let started = (&*self.interpreter, &*app);
        let plan = plan(exercise, self.folder.language, started, Scope::Others)?;
        let lines = &mut self.lines;
        let opened = in_first_testbed(&plan, self.interruption.wait(), async |testbed| {
            say_of("the app", testbed.start.as_str());
            say_of("its calls", testbed.control.url());
            say_of("", "Enter ends it.");
            lines.recv().await;
            Ok(())
        });
        match opened.await {
            Ok(Some(())) => say(" It has ended."),
            Ok(None) => return Ok(Step::Quit),
            Err(error) => words::not_started(&error),
        }
        Ok(Step::Stay)
    }

    fn start_over(&self) -> Result<(), String> {
        let kept = self.folder.start_over(self.place)?;
        say(match kept.as_slice() {
            [] => " The app is as it came.".to_owned(),
            kept => format!(
                " The app is as it came; your version is in {}.",
                kept.join(", ")
            ),
        });
        Ok(())
    }

    async fn solution(&mut self) -> Result<(), String> {
        say(self.exercise().solution(self.folder.language)?);
        let entry = self.progress.entry(&self.exercise().id);
        if entry.status != PracticeStatus::Solved {
            entry.status = PracticeStatus::Seen;
        }
        self.keep().await
    }

    /// The answer to the question, and the mend that looks right and is not.
    fn answer(&mut self, number: usize) {
        let exercise = self.exercise();
        let question = &exercise.question;
        if number != question.right {
            say(" \u{2717} No. Think of what the attacker has, and answer again; n goes on.");
            return;
        }
        self.is_asked = false;
        say(format!(" \u{2713} {}", question.why));
        let language = self.folder.language;
        if let Some(wrong) = exercise.wrong.iter().find(|it| it.language == language) {
            say_of("looks right", &wrong.says);
        }
        say_of(
            "lesson",
            &format!("/lessons/{} of a running stack", exercise.lesson),
        );
        let first = exercise.faults(language)[0].checks().next();
        say_of(
            "law",
            &first.map_or_else(String::new, |check| check.law.join("; ")),
        );
        say(" n next   l list   q quit");
    }
}
