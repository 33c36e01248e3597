//! The course: each exercise begins with the attack, and ends when the attack fails, nothing else
//! broke, and a question is answered.

use std::fs;
use std::future::pending;
use std::io::BufRead as _;
use std::path::PathBuf;
use std::pin::pin;
use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use stack::practice::{Practice, PracticeExercise, PracticeRun, PracticeStatus};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::exercise::Exercise;
use super::folder::Folder;
use super::judge::{Judged, Scope, judge, plan};
use super::progress::Progress;
use super::words::{self, say, say_of};
use crate::Report;
use crate::cli::{Changes, Interruption};
use crate::control::Control;
use crate::examination::in_first_testbed;
use crate::time::{Stopwatch, pause};

/// The time after which a stack that was started meanwhile is shown the exercises.
const RENEWAL: Duration = Duration::from_secs(5);

/// A learner's session.
pub(super) struct Session {
    folder: Folder,
    progress: Progress,
    interpreter: Vec<String>,
    /// The stack that mirrors the exercises, if it runs.
    control: Control,
    is_mirrored: bool,
    interruption: Interruption,
    lines: UnboundedReceiver<String>,
    /// The place of the exercise in the table.
    place: usize,
    /// The time since it was last added to the progress.
    watch: Stopwatch,
    run: Option<PracticeRun>,
    /// Whether a question waits for its answer.
    is_asked: bool,
}

/// The way on from an exercise.
enum Step {
    Stay,
    Go(usize),
    Quit,
}

impl Session {
    pub(super) fn new(
        folder: Folder,
        progress: Progress,
        interpreter: Vec<String>,
        control: Control,
        interruption: Interruption,
    ) -> Self {
        Self {
            folder,
            progress,
            interpreter,
            control,
            is_mirrored: false,
            interruption,
            lines: lines(),
            place: 0,
            watch: Stopwatch::start(),
            run: None,
            is_asked: false,
        }
    }

    /// Goes through the exercises until the learner ends.
    ///
    /// # Errors
    ///
    /// If the folder can no longer be written.
    pub(super) async fn run(mut self, first: Option<usize>) -> Result<(), String> {
        let mut next = first.or(self.next_open(0));
        while let Some(place) = next {
            self.place = place;
            next = match self.work().await? {
                Step::Go(place) => Some(place),
                Step::Stay | Step::Quit => None,
            };
        }
        self.keep().await
    }

    fn exercise(&self) -> &'static Exercise {
        &Exercise::all()[self.place]
    }

    /// The first place from `start` on, and then from the beginning, of what is not done.
    fn next_open(&self, start: usize) -> Option<usize> {
        let all = Exercise::all();
        let mut places = (start..all.len()).chain(0..start.min(all.len()));
        places.find(|place| !self.progress.is_done(&all[*place].id))
    }

    /// One exercise, from the attack on.
    async fn work(&mut self) -> Result<Step, String> {
        (self.run, self.is_asked) = (None, false);
        self.watch = Stopwatch::start();
        self.keep().await?;
        words::heading(self.place, self.exercise(), &self.practice());
        let mut changes = Changes::below(&self.folder.app(self.place), &[]);
        if self.look().await?.is_none() {
            return Ok(Step::Quit);
        }
        let app = self.folder.shown_app(self.place);
        say_of("who suffers", &self.exercise().harm);
        if self.is_mirrored {
            let (url, id) = (self.control.url(), &self.exercise().id);
            say_of(
                "see it",
                &format!("{url}/practice/{id} (the call, beside a good one)"),
            );
        }
        say_of(
            "your app",
            &format!("{app}/ Mend it, and save: each save is judged."),
        );
        say(format!(" {}\n> ", words::KEYS));
        loop {
            if let Some(step) = self.until_saved(&mut changes).await? {
                return Ok(step);
            }
            if self.judge_saved(&mut changes).await?.is_none() {
                return Ok(Step::Quit);
            }
        }
    }

    /// Does what the keys say until a file is saved; the step, if a key leaves the exercise.
    async fn until_saved(&mut self, changes: &mut Changes) -> Result<Option<Step>, String> {
        // Dropped before it is over, it would lose what it has seen.
        let mut changed = pin!(changes.next());
        loop {
            tokio::select! {
                biased;
                () = self.interruption.wait() => return Ok(Some(Step::Quit)),
                Some(line) = self.lines.recv() => match self.key(line.trim()).await? {
                    Step::Stay => {}
                    step => return Ok(Some(step)),
                },
                _ = &mut changed => return Ok(None),
                () = pause(RENEWAL) => self.mirror(true).await,
            }
        }
    }

    /// The first look, at the app as it is; none after an interruption.
    async fn look(&mut self) -> Result<Option<()>, String> {
        let judged = self.judged(Scope::Own, None).await;
        self.show(judged, "This is what happens.").await
    }

    /// Judges what the learner saved: the faults of the exercise, and then everything else, in
    /// which a save begins anew. None after an interruption.
    async fn judge_saved(&mut self, changes: &mut Changes) -> Result<Option<()>, String> {
        loop {
            if let Some(file) = self.folder.missing(self.place) {
                let app = self.folder.shown_app(self.place);
                say(format!(
                    " {file} is not in {app}/: give it its name back, or r starts over."
                ));
                return Ok(Some(()));
            }
            let own = self.judged(Scope::Own, None).await;
            let entry = self.progress.entry(&self.exercise().id);
            entry.tries += 1;
            if entry.status == PracticeStatus::Open {
                entry.status = PracticeStatus::Tried;
            }
            let green = match &own {
                Ok(Some(it)) if it.is_green() => Some(it.report.clone()),
                _ => None,
            };
            let shown = self.show(own, "It still happens.").await?;
            let (Some(()), Some(green)) = (shown, green) else {
                return Ok(shown);
            };
            say("   Looking whether anything else broke; a save begins anew.");
            let others = self.judged(Scope::Others, Some(&mut *changes)).await;
            match others {
                Ok(Some(others)) if others.is_green() => {
                    return self.solve(&green.updated(others.report)).await.map(Some);
                }
                // A save, or the end.
                Ok(None) if !self.interruption.has_come() => {}
                others => return self.show(others, "Something else broke.").await,
            }
        }
    }

    /// The exercise is solved, with this report; one question is left.
    async fn solve(&mut self, report: &Report) -> Result<(), String> {
        words::nothing_broke(report);
        let entry = self.progress.entry(&self.exercise().id);
        if entry.status != PracticeStatus::Seen {
            entry.status = PracticeStatus::Solved;
        }
        self.is_asked = true;
        words::question(&self.exercise().question);
        self.keep().await
    }

    /// Examines the app; none after an interruption, or a save where `changes` are watched.
    async fn judged(
        &self,
        scope: Scope,
        changes: Option<&mut Changes>,
    ) -> Result<Option<Judged>, String> {
        let (app, exercise) = (self.folder.app(self.place), self.exercise());
        let started = (&*self.interpreter, &*app);
        let plan = plan(exercise, self.folder.language, started, scope)?;
        let saved = async {
            match changes {
                Some(changes) => drop(changes.next().await),
                None => pending().await,
            }
        };
        let interrupted = async {
            tokio::select! {
                () = self.interruption.wait() => {}
                () = saved => {}
            }
        };
        judge(&plan, interrupted).await
    }

    /// Says the verdict and what was seen, and keeps both; none after an interruption.
    async fn show(
        &mut self,
        judged: Result<Option<Judged>, String>,
        says: &str,
    ) -> Result<Option<()>, String> {
        match judged {
            Ok(None) => return Ok(None),
            Err(error) => words::not_started(&error),
            Ok(Some(judged)) => {
                let says = if judged.is_green() {
                    "It no longer happens."
                } else {
                    says
                };
                words::verdict(&judged, says);
                self.run = Some(judged.run(says));
                // The page for those without a stack; an old one does no harm.
                let _ = fs::write(self.report_file(), judged.report.html());
            }
        }
        self.keep().await.map(Some)
    }

    fn report_file(&self) -> PathBuf {
        self.folder.root.join("report.html")
    }

    /// Does what a key says.
    async fn key(&mut self, key: &str) -> Result<Step, String> {
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
    fn hints_of(&self, exercise: &Exercise) -> Vec<String> {
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

    /// Writes the progress, and shows it to the stack.
    async fn keep(&mut self) -> Result<(), String> {
        let seconds = self.watch.elapsed().as_secs();
        self.watch = Stopwatch::start();
        self.progress.entry(&self.exercise().id).seconds += seconds;
        self.progress.write(&self.folder.root)?;
        self.mirror(false).await;
        Ok(())
    }

    /// Shows the exercises to the stack, if one runs; again, if it has forgotten them.
    async fn mirror(&mut self, is_renewal: bool) {
        let path = "/api/practice";
        if is_renewal && self.control.get::<Value>(path).await.is_ok() {
            return;
        }
        let practice = json!(self.practice());
        let posted = self.control.call(Method::POST, path, Some(&practice)).await;
        self.is_mirrored = posted.is_ok();
    }

    fn practice(&self) -> Practice {
        let exercises = Exercise::all().iter().map(|it| {
            let entry = self.progress.of(&it.id);
            PracticeExercise {
                id: it.id.clone(),
                title: it.title.clone(),
                group: it.group.clone(),
                goal: it.goal.clone(),
                harm: it.harm.clone(),
                lesson: it.lesson.clone(),
                status: entry.status,
                tries: entry.tries,
                seconds: entry.seconds,
                hints: self.hints_of(it),
                run: self.run.clone().filter(|_| it.id == self.exercise().id),
            }
        });
        Practice {
            language: self.folder.language.to_string(),
            folder: self.folder.name.display().to_string(),
            current: Some(self.exercise().id.clone()),
            exercises: exercises.collect(),
        }
    }
}

/// The lines of standard input. A thread reads them, which the end of the program does not wait
/// for.
fn lines() -> UnboundedReceiver<String> {
    let (sender, receiver) = unbounded_channel();
    std::thread::spawn(move || {
        let lines = std::io::stdin().lock().lines();
        for line in lines.map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    receiver
}
