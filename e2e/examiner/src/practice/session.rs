//! The course: each exercise begins with the attack, and ends when the attack fails, nothing else
//! broke, and a question is answered.

mod keys;
mod mirror;

use std::fs;
use std::future::pending;
use std::io::BufRead as _;
use std::path::PathBuf;
use std::pin::pin;
use std::time::Duration;

use stack::practice::{PracticeRun, PracticeStatus};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::exercise::Exercise;
use super::folder::Folder;
use super::judge::{Judged, Scope, judge, plan};
use super::progress::Progress;
use super::words::{self, say, say_of};
use crate::Report;
use crate::cli::{Changes, Interruption};
use crate::control::Control;
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

    /// Writes the progress, and shows it to the stack.
    async fn keep(&mut self) -> Result<(), String> {
        let seconds = self.watch.elapsed().as_secs();
        self.watch = Stopwatch::start();
        self.progress.entry(&self.exercise().id).seconds += seconds;
        self.progress.write(&self.folder.root)?;
        self.mirror(false).await;
        Ok(())
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
